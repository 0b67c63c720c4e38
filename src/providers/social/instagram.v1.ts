import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social, tool } from './_contract.ts';
import { find, limits, prepare, publish, Settings } from './_instagram.ts';
import { channelMetrics, comment, comments, hide, metrics } from './_instagram-reading.ts';
import { pollMedia } from './_meta-containers.ts';
import { facebookLogin, GRAPH, graphFailure, Id, managedPages, removeNode } from './_meta-graph.ts';
import { commentAtLikes } from './_plugs.ts';

const Account = Id.extend({
  username: z.string(),
  name: z.string().nullish(),
  profile_picture_url: z.url().nullish().catch(undefined),
});
const FIELDS = 'id,username,name,profile_picture_url';
const Page = Id.extend({ access_token: z.string().nullish(), instagram_business_account: Account.nullish() });
const Person = Id.extend({ name: z.string() });
const shown = ({ id, username, name, profile_picture_url: picture }: z.output<typeof Account>) => ({
  id,
  name: name || username,
  handle: `@${username}`,
  ...(picture && { picture }),
});
/** The accounts that belong to pages of the person, each with the token of its page. */
const accountsOf = async (http: Http) =>
  (await managedPages(http, Page, `id,access_token,instagram_business_account{${FIELDS}}`)).flatMap(
    ({ access_token: token, instagram_business_account: account }) => (account ? [{ account, token }] : []),
  );

const Audio = z.object({
  audio_id: z.string(),
  title: z.string().nullish(),
  display_artist: z.string().nullish(),
  ig_username: z.string().nullish(),
  duration_in_ms: z.number().nullish(),
  cover_artwork_thumbnail_url: z.string().nullish(),
  download_url: z.string().nullish(),
});
const soundOf = (one: z.output<typeof Audio>) => ({
  id: one.audio_id,
  title: one.title ?? '',
  artist: one.display_artist ?? one.ig_username ?? '',
  ...(one.duration_in_ms != null && { seconds: Math.round(one.duration_in_ms / 1000) }),
  ...(one.cover_artwork_thumbnail_url && { image: one.cover_artwork_thumbnail_url }),
  ...(one.download_url && { preview: one.download_url }),
});

/** https://developers.facebook.com/docs/instagram-platform/content-publishing and the guide to its Audio API */
export default social({
  id: 'instagram',
  version: 'v1',
  status: 'active',
  title: 'Instagram',
  description: 'Posts, carousels, reels and stories of an account that belongs to a Facebook Page.',
  website: 'https://www.instagram.com',
  authType: 'oauth2',
  setupNotes:
    'Business and creator accounts that are linked to a Facebook Page. Until Meta has reviewed the permissions of the app, only people with a role in it can connect. Instagram fetches files from this server or its storage, which must have a public address.',
  credentials: {},
  app: clientApp,
  api: GRAPH,
  auth: { in: 'token' },
  errorOf: graphFailure,
  login: facebookLogin([
    'instagram_basic',
    'pages_show_list',
    'pages_read_engagement',
    'business_management',
    'instagram_content_publish',
    'instagram_manage_comments',
    'instagram_manage_insights',
  ]),
  once: 'two-phase',
  threads: 'comment',
  limits,
  settings: Settings,
  plugs: [commentAtLikes('instagram')],

  async profile({ http, values }) {
    const page = (values as Record<string, string>)['page'];
    if (page !== undefined) return shown(await http.get(`/${page}`, Account, { query: { fields: FIELDS } }));
    return { ...(await http.get('/me', Person, { query: { fields: 'id,name' } })), handle: '' };
  },
  pages: async ({ http }) => (await accountsOf(http)).map(({ account }) => shown(account)),
  async choose({ http, page, tokens }) {
    const token = (await accountsOf(http)).find(({ account }) => account.id === page)?.token;
    if (!token) throw refused('rejected', 'The login may not post to this account');
    return { accessToken: token, values: { ...tokens.values, page } }; // a token of a page does not expire
  },

  prepare,
  publish,
  poll: pollMedia,
  find,
  remove: ({ http, published: { id } }) => removeNode(http, id),
  comment,
  comments,
  hide,
  metrics,
  channelMetrics,
  tools: {
    audioSearch: tool({
      description: 'Searches music or original sounds for a reel; without words those of the day',
      data: z.looseObject({
        q: z.string().max(100).optional(),
        audio_type: z.enum(['music', 'original_sound']).optional(),
      }),
      async call({ http, account, data: { q, audio_type = 'music' } }) {
        const query = { audio_type, user_id: account, search_query: q || undefined };
        const { audio } = await http.get('/ig_audio', z.object({ audio: z.array(Audio) }), { query });
        return audio.map(soundOf);
      },
    }),
  },
});
