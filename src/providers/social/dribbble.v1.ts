import { z } from 'zod';
import { clientApp } from '../kit/protocols/oauth.ts';
import { sameText } from '../kit/protocols/text.ts';
import { Title } from './_articles.ts';
import { NUMBER_ID } from './_bounds.ts';
import { type Published, social } from './_contract.ts';
import { fitted } from './_files.ts';
import { sinceThen } from './_lists.ts';
import { seriesOfNow } from './_series.ts';
import { listing } from './_tools.ts';

const RULES = { maxBytes: 8_000_000, maxPixels: 1_600 * 1_200, types: ['image/jpeg', 'image/png', 'image/gif'] };
const POLL_MS = 3_000;
const PAGE = 100;

const User = z.object({
  id: z.number(),
  name: z.string().nullish(),
  login: z.string(),
  avatar_url: z.string().nullish(),
  followers_count: z.number().nullish(),
});
const Teams = z.object({ teams: z.array(z.object({ id: z.number(), name: z.string() })).nullish(), id: z.number() });
/** The answer to an upload names the shot in a header. */
const Accepted = z
  .object({ headers: z.object({ location: z.string().regex(/\/shots\/\d+/) }) })
  .transform(({ headers: { location } }) => /\/shots\/(\d+)/.exec(location)![1]!);
const Shot = z.object({ id: z.number(), html_url: z.string() });
const Own = Shot.extend({
  title: z.string(),
  description: z.string().nullish(),
  published_at: z.coerce.date().nullish(),
});
const Saved = z.object({ id: z.string().optional() }).catch({});
const published = ({ id, html_url: url }: z.output<typeof Shot>): Published => ({ id: String(id), url });

/** https://developer.dribbble.com/v2/ */
export default social({
  id: 'dribbble',
  version: 'v1',
  status: 'active',
  title: 'Dribbble',
  description: 'Shots of designs on Dribbble.',
  website: 'https://dribbble.com',
  authType: 'oauth2',
  setupNotes:
    'Register an app at dribbble.com/account/applications. Only members who may upload can publish. Pictures have sides of 4 to 3, between 400 × 300 and 1600 × 1200.',
  credentials: {},
  app: clientApp,
  api: 'https://api.dribbble.com/v2',
  auth: { in: 'token' },
  login: {
    kind: 'oauth2',
    authorize: 'https://dribbble.com/oauth/authorize',
    token: 'https://dribbble.com/oauth/token',
    scopes: ['public', 'upload'],
    renewal: 'none', // tokens do not expire
  },
  once: 'read-back',
  threads: 'none',
  textForm: 'html',
  processesWithinMs: 3_600_000,
  limits: {
    text: 40_000,
    unit: 'characters',
    media: 1,
    needsMedia: true,
    mediaTypes: RULES.types,
    image: { bytes: RULES.maxBytes, side: [300, 1_600], ratio: [1.33, 1.34] }, // 4 to 3, to a pixel,
  },
  releaseIds: NUMBER_ID,
  settings: z.looseObject({
    title: Title(255),
    team: z.union([z.string().regex(/^\d{0,18}$/), z.int()]).optional(),
  }),

  async profile({ http }) {
    const { id, name, login, avatar_url: picture } = await http.get('/user', User);
    return { id: String(id), name: name || login, handle: login, picture };
  },
  async publish({ http, post, save, settings: { title, team } }) {
    const image = await fitted(post.media[0]!, RULES); // `needsMedia`
    const id = await http.post('/shots', Accepted, {
      multipart: { title, description: post.text || undefined, team_id: team ? String(team) : undefined, image },
      replyHeaders: ['location'],
      creates: true,
    });
    await save({ id });
    return { processingMs: POLL_MS };
  },
  async poll({ http, saved }) {
    const shot = await http.find(`/shots/${Saved.parse(saved).id}`, Shot);
    return shot ? published(shot) : { processingMs: POLL_MS };
  },
  async find({ http, post, saved, since, settings: { title } }) {
    const { id } = Saved.parse(saved);
    if (id !== undefined) return { id, url: `https://dribbble.com/shots/${id}` };
    const own = await http.get('/user/shots', z.array(Own), { query: { per_page: String(PAGE) } });
    return sinceThen(own, PAGE, (shot) => !!shot.published_at && shot.published_at >= since)
      .filter((shot) => shot.title === title)
      .filter(({ description }) => sameText(description ?? '', post.plain))
      .map(published);
  },
  remove: ({ http, published: { id } }) => http.delete(`/shots/${id}`),

  async channelMetrics({ http, clock }) {
    const { followers_count: followers } = await http.get('/user', User);
    return seriesOfNow(clock, { followers });
  },
  tools: {
    teams: listing('Lists the teams of the account', async ({ http }) => {
      const { teams } = await http.get('/user', Teams);
      return (teams ?? []).map(({ id, name }) => ({ id: String(id), name }));
    }),
  },
});
