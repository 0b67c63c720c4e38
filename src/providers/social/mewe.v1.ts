import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { networkId } from '../kit/declare/setting-texts.ts';
import { type App, type Connection, type Media, social } from './_contract.ts';
import { fitted, uploadEach } from './_files.ts';
import { listing } from './_tools.ts';

const HOST = 'https://mewe.com';
const PICTURES = ['image/jpeg', 'image/png', 'image/gif'];
const User = z.object({ userId: z.string(), name: z.string(), handle: z.string().nullish() });
const Group = z.object({ groupId: z.string(), name: z.string() });
const Token = z
  .object({ pending: z.literal(true) })
  .or(z.object({ apiToken: z.string(), expiresAt: z.coerce.date().optional() }));
/** `photos`: ids of the uploaded files, in order. */
const Saved = z.object({ photos: z.array(z.string()) }).catch({ photos: [] });
const Photo = z.object({ id: z.string() });
/** Often there is no body, and so no id. */
const Made = z.object({ id: z.string().optional() });
const DAYS_30 = 30 * 86_400_000;

/** The server of the app, and what each call to it sends. */
const serverOf = ({ app, token }: Pick<Connection, 'app' | 'token'>) => {
  if (!app) throw refused('reauthorize', 'The app of this login is not known any more');
  const headers = { 'x-app-id': app.clientId, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  return { at: `${baseOf(app)}/api/dev`, headers };
};
const baseOf = ({ server = HOST }: App): string => server.replace(/\/$/, '');

/** https://dev.mewe.com for the login; the calls that publish as other programs make them */
export default social({
  id: 'mewe',
  version: 'v1',
  status: 'preview',
  title: 'MeWe',
  description: 'Posts on a MeWe timeline or in a group.',
  website: 'https://mewe.com',
  authType: 'oauth2',
  setupNotes:
    'MeWe gives access to its interface as a developer preview, to apps that it has reviewed, and has not published how posts are written. A post answers no id: it cannot be linked to, deleted or measured.',
  credentials: {},
  app: {
    clientId: text('App id'),
    clientSecret: secret('API key'),
    server: text('Host', { form: 'origin', required: false }),
  },
  api: HOST,
  errors: { 420: 'rate_limited' },
  login: {
    kind: 'approval',
    async begin({ app, redirectUri, state }) {
      const query = new URLSearchParams({ client_id: app.clientId, redirect_uri: redirectUri, state });
      return { url: `${baseOf(app)}/login?${query}` };
    },
    async poll({ http, clock, app, callback: { loginRequestToken } }) {
      if (loginRequestToken === undefined) return undefined;
      const { at, headers } = serverOf({ app, token: undefined });
      const answer = await http.get(`${at}/token`, Token, {
        query: { loginRequestToken },
        headers: { ...headers, 'x-api-key': app.clientSecret },
      });
      if ('pending' in answer) return undefined;
      return { accessToken: answer.apiToken, expiresAt: answer.expiresAt ?? clock.in(DAYS_30) };
    },
  },
  once: 'at-most-once',
  threads: 'none',
  limits: {
    text: 63_206,
    unit: 'characters',
    media: 10,
    mediaTypes: PICTURES,
  },
  settings: z
    .looseObject({ postType: z.enum(['timeline', 'group']).default('timeline'), group: networkId(100, 0).optional() })
    .refine(({ postType, group }) => postType === 'timeline' || group, {
      path: ['group'],
      message: 'is needed for a post in a group',
    }),

  async profile({ http, ...line }) {
    const { at, headers } = serverOf(line);
    const { userId: id, name, handle } = await http.get(`${at}/me`, User, { headers });
    return { id, name, handle: handle ? `@${handle}` : '' };
  },
  async prepare({ http, post, saved, save, ...line }) {
    const { at, headers } = serverOf(line);
    async function upload(item: Media): Promise<string> {
      const file = await fitted(item, { types: PICTURES });
      return (await http.post(`${at}/photo/upload`, Photo, { headers, multipart: { file } })).id;
    }
    return uploadEach(post.media, Saved.parse(saved).photos, upload, (photos) => save({ photos }));
  },
  async publish({ http, post, settings: { postType, group = '' }, saved, ...line }) {
    const { at, headers } = serverOf(line);
    const { photos } = Saved.parse(saved);
    const isGroup = postType === 'group';
    const place = isGroup ? `group/${encodeURIComponent(group)}` : 'me';
    const { id = post.id } = await http.post(`${at}/${place}/post`, Made, {
      headers,
      json: { text: post.text, ...(photos.length > 0 && { uploadedPhotoIds: photos }) },
      creates: true,
    });
    return { id, url: isGroup ? `${HOST}/${place}` : HOST };
  },
  tools: {
    groups: listing('Lists the groups of the connected person', async ({ http, ...line }) => {
      const { at, headers } = serverOf(line);
      const { groups } = await http.get(`${at}/groups`, z.object({ groups: z.array(Group) }), { headers });
      return groups.map(({ groupId: id, name }) => ({ id, name }));
    }),
  },
});
