import { z } from 'zod';
import { clientApp } from '../kit/protocols/oauth.ts';
import { type Post, type Published, social } from './_contract.ts';
import { mediaSource, prepareVideo } from './_pinterest-media.ts';
import { countsOfPins, reportOfAccount } from './_pinterest-report.ts';
import { repostFrom } from './_plugs.ts';

const NEWEST = 100;
const PAGE = 250;
const PAGES = 10;

const Account = z.object({ id: z.string(), username: z.string(), profile_image: z.url().nullish().catch(undefined) });
const Pin = z.object({ id: z.string() });
const OwnPins = z.object({
  items: z.array(
    Pin.extend({
      title: z.string().nullish(),
      description: z.string().nullish(),
      link: z.string().nullish(),
      created_at: z.string(),
      parent_pin_id: z.string().nullish(),
      media: z.object({ media_type: z.string(), items: z.array(z.unknown()).nullish() }).nullish(),
    }),
  ),
});
type OwnPin = z.output<typeof OwnPins>['items'][number];
const Boards = z.object({
  items: z.array(z.object({ id: z.string(), name: z.string() })),
  bookmark: z.string().nullish(),
});

const published = ({ id }: { id: string }): Published => ({ id, url: `https://www.pinterest.com/pin/${id}` });
/** The time of a pin, which may be told without a zone: it is UTC. */
const madeAt = ({ created_at: at }: OwnPin): Date => new Date(/(?:Z|[+-]\d\d:?\d\d)$/i.test(at) ? at : `${at}Z`);
/** A pin with several pictures names them, every other one has a single file, and a picture as cover of a video. */
const sameFiles = ({ media }: OwnPin, post: Post): boolean =>
  !media || (media.media_type === 'multiple_images' ? (media.items?.length ?? post.media.length) : 1) === filesOf(post);
const filesOf = ({ media }: Post): number => (media.some(({ kind }) => kind === 'video') ? 1 : media.length);

/** https://developers.pinterest.com/docs/api/v5/pins-create */
export default social({
  id: 'pinterest',
  version: 'v1',
  status: 'active',
  title: 'Pinterest',
  description: 'Pins with pictures, carousels and videos on a board.',
  website: 'https://www.pinterest.com',
  authType: 'oauth2',
  setupNotes:
    'With trial access only the author sees the pins: Pinterest grants standard access after it has seen a video of the app. Secret boards cannot be used.',
  credentials: {},
  app: clientApp,
  api: 'https://api.pinterest.com/v5',
  auth: { in: 'token' },
  login: {
    kind: 'oauth2',
    authorize: 'https://www.pinterest.com/oauth/',
    token: 'https://api.pinterest.com/v5/oauth/token',
    scopes: ['boards:read', 'boards:write', 'pins:read', 'pins:write', 'user_accounts:read'],
    scopeSeparator: ',',
    secretIn: 'header',
    exchangeAsks: { continuous_refresh: 'true' },
  },
  once: 'read-back',
  threads: 'none',
  limits: {
    text: 800,
    unit: 'characters',
    media: 5,
    needsMedia: true,
    mediaTypes: ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'video/mp4', 'video/x-m4v', 'video/quicktime'],
    image: { count: 5, bytes: 20_000_000 },
    video: { count: 1, bytes: 2_000_000_000, seconds: [4, 900], ratio: [0.562, 1.91] },
  },
  settings: z.looseObject({
    board: z.string().regex(/^\d+$/),
    title: z.string().max(100).optional(),
    link: z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(2_048)]).optional(),
    dominant_color: z.union([z.literal(''), z.string().regex(/^#[0-9a-f]{6}$/i)]).optional(),
  }),
  plugs: [repostFrom('pinterest', ['pinterest'])],

  async profile({ http }) {
    const { id, username, profile_image: picture } = await http.get('/user_account', Account);
    return { id, name: username, handle: `@${username}`, ...(picture && { picture }) };
  },

  prepare: (call) => prepareVideo(call),
  async publish({ http, post, settings: { board, title, link, dominant_color }, saved }) {
    const alt = post.media[0]!.alt; // `needsMedia`
    const json = {
      board_id: board,
      media_source: await mediaSource(post, saved),
      ...(post.text && { description: post.text }),
      ...(title && { title }),
      ...(link && { link }),
      ...(dominant_color && { dominant_color }),
      ...(alt && { alt_text: alt.slice(0, 500) }),
    };
    return published(await http.post('/pins', Pin, { json, creates: true }));
  },
  async find({ http, post, settings: { board, title, link }, since }) {
    const { items } = await http.get(`/boards/${board}/pins`, OwnPins, {
      query: { page_size: String(NEWEST) },
      answerBytes: 4 * 1024 * 1024,
    });
    return items
      .filter(
        (pin) =>
          madeAt(pin) >= since &&
          (pin.title ?? '') === (title ?? '') &&
          (pin.description ?? '').trim() === post.text.trim() &&
          (!link || (pin.link ?? link) === link) &&
          sameFiles(pin, post),
      )
      .map(published);
  },
  remove: ({ http, published: { id } }) => http.delete(`/pins/${encodeURIComponent(id)}`),

  /** Saves the pin of another channel to the profile. */
  repost: {
    once: 'read-back',
    send: async ({ http, repost }) =>
      published(
        await http.post(`/pins/${encodeURIComponent(repost.published.id)}/save`, Pin, { json: {}, creates: true }),
      ),
    async find({ http, repost, since }) {
      const { items } = await http.get('/pins', OwnPins, {
        query: { page_size: String(NEWEST) },
        answerBytes: 4 * 1024 * 1024,
      });
      return items.filter((pin) => pin.parent_pin_id === repost.published.id && madeAt(pin) >= since).map(published);
    },
  },

  metrics: (call) => countsOfPins(call),
  channelMetrics: (call) => reportOfAccount(call),
  tools: {
    boards: {
      description: 'Lists the boards of the account',
      data: z.object({}),
      async call({ http }) {
        const boards: { id: string; name: string }[] = [];
        let bookmark: string | undefined;
        for (let page = 0; page < PAGES; page += 1) {
          const { items, bookmark: next } = await http.get('/boards', Boards, {
            query: { page_size: String(PAGE), bookmark },
            answerBytes: 4 * 1024 * 1024,
          });
          boards.push(...items);
          if (!next) break;
          bookmark = next;
        }
        return boards;
      },
    },
  },
});
