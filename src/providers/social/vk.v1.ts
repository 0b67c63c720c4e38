import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { type Connection, social } from './_contract.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';
import { ownComments, readComments, writeComment } from './_vk-comments.ts';
import { attach } from './_vk-upload.ts';
import { answered, countsOf, failureInside, partsOf, postAt, WallPost, WallPosts } from './_vk-wall.ts';

const Person = z.object({
  id: z.int(),
  first_name: z.string(),
  last_name: z.string(),
  screen_name: z.string().optional(),
  photo_200: z.url().optional(),
  followers_count: z.int().optional(),
});
const Found = z.object({
  items: z.array(
    z.object({
      id: z.int(),
      first_name: z.string().optional(),
      last_name: z.string().optional(),
      name: z.string().optional(),
      photo_50: z.url().optional(),
    }),
  ),
});
const Wall = answered(z.object({ items: z.array(WallPost) }));
/** `attached`: the uploaded files of the post in order, as the wall names them. */
const Saved = z.object({ attached: z.array(z.string()) }).catch({ attached: [] });
const PAGE = '100';

/** https://dev.vk.com/method/wall */
export default social({
  id: 'vk',
  version: 'v1',
  status: 'active',
  title: 'VK',
  description: "Posts on the wall of a person's VK profile.",
  website: 'https://vk.com',
  authType: 'oauth2',
  setupNotes:
    'VK lets only apps of verified businesses write to walls, on request; it refuses the posts of other apps. At most 50 posts a day.',
  credentials: {},
  app: { clientId: text('App id') },
  api: 'https://api.vk.com/method',
  auth: [{ in: 'token' }, { in: 'form', name: 'v', text: '5.199' }],
  errorInside: failureInside,
  login: {
    kind: 'oauth2',
    authorize: 'https://id.vk.com/authorize',
    token: 'https://id.vk.com/oauth2/auth',
    scopes: ['vkid.personal_info', 'wall', 'photos', 'video', 'groups'],
    pkce: true,
    secretIn: 'none',
    keeps: { callback: { device_id: 'device_id' } },
    exchangeAsks: { device_id: '{device_id}', state: '{state}' },
    renewAsks: { device_id: '{device_id}', state: '{state}' },
    revoke: { at: 'https://id.vk.com/oauth2/revoke', tokenName: 'access_token' },
  },
  once: 'key',
  threads: 'comment',
  pace: [{ per: 'account', posts: 50, ms: 86_400_000 }],
  limits: {
    text: 16_384,
    unit: 'characters',
    media: 10,
    mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'video/*'],
    image: { bytes: 50_000_000, ratio: [0.05, 20] },
  },
  settings: z.looseObject({}),
  plugs: [repostAtLikes('vk'), commentAtLikes('vk'), repostFrom('vk', ['vk']), commentFrom('vk', ['vk'])],

  async profile({ http }) {
    const { response } = await http.get('/users.get', answered(z.tuple([Person])), {
      query: { fields: 'screen_name,photo_200' },
    });
    const [{ id, first_name, last_name, screen_name, photo_200: picture }] = response;
    const handle = `@${screen_name ?? `id${id}`}`;
    return { id: String(id), name: `${first_name} ${last_name}`, handle, ...(picture && { picture }) };
  },
  async prepare({ post, saved, save, ...call }) {
    const { attached } = Saved.parse(saved);
    const next = post.media[attached.length];
    if (!next) return 'ready';
    await save({ attached: [...attached, await attach(call, next)] });
    return attached.length + 1 === post.media.length ? 'ready' : { againMs: 0 };
  },
  async publish({ http, account, post, saved }) {
    const { attached } = Saved.parse(saved);
    const { response } = await http.post('/wall.post', answered(z.object({ post_id: z.int() })), {
      form: {
        owner_id: account,
        message: post.text,
        guid: post.id,
        ...(attached.length > 0 && { attachments: attached.join(',') }),
      },
      creates: true,
    });
    return postAt(account, response.post_id);
  },
  async find({ http, account, post, since }) {
    const own = await newestOf({ http, account });
    return own
      .filter(
        ({ date, text: written, attachments, copy_history: copied }) =>
          date >= since && written === post.text && attachments.length >= post.media.length && copied.length === 0,
      )
      .map(({ id }) => postAt(account, id));
  },
  async remove({ http, published: { id } }) {
    const { owner: owner_id, post: post_id, comment: comment_id } = partsOf(id);
    if (comment_id !== undefined)
      await http.post('/wall.deleteComment', z.unknown(), { form: { owner_id, comment_id } });
    else await http.post('/wall.delete', z.unknown(), { form: { owner_id, post_id } });
  },

  comment: {
    once: 'key',
    replies: true,
    send: (call) => writeComment(call),
    find: (call) => ownComments(call),
  },
  comments: (call) => readComments(call),
  repost: {
    once: 'read-back',
    async send({ http, account, repost }) {
      const { response } = await http.post('/wall.repost', answered(z.object({ post_id: z.int() })), {
        form: { object: `wall${repost.published.id}` },
        creates: true,
      });
      return postAt(account, response.post_id);
    },
    async find({ http, account, repost, since }) {
      const own = await newestOf({ http, account });
      return own
        .filter(({ date, copy_history: [of] }) => {
          return date >= since && of && `${of.owner_id}_${of.id}` === repost.published.id;
        })
        .map(({ id }) => postAt(account, id));
    },
  },
  async mentions({ http, query: q }) {
    const query = { q, count: '10', fields: 'photo_50' };
    const people = await http.get('/users.search', answered(Found), { query });
    const groups = await http.get('/groups.search', answered(Found), { query: { q, count: '10' } });
    return [
      ...people.response.items.map(({ id, first_name, last_name, photo_50: image }) => {
        return { id: `id${id}`, label: `${first_name} ${last_name}`, image };
      }),
      ...groups.response.items.map(({ id, name = '', photo_50: image }) => ({ id: `club${id}`, label: name, image })),
    ];
  },
  mention: ({ id, label }) => (/^(?:id|club)\d+$/.test(id) ? `[${id}|${label.replace(/[[\]|]/g, '')}]` : undefined),

  async metrics({ http, posts }) {
    const query = { posts: posts.map(({ id }) => id).join(',') };
    const { response } = await http.get('/wall.getById', answered(WallPosts), { query });
    return response.map((one) => ({ id: postAt(one.owner_id, one.id).id, counts: countsOf(one) }));
  },
  metricsAtOnce: 100,
  async channelMetrics({ http, clock }) {
    const { response } = await http.get('/users.get', answered(z.tuple([Person])), {
      query: { fields: 'followers_count' },
    });
    const followers = response[0].followers_count;
    return seriesOfNow(clock, { followers });
  },
});

async function newestOf({ http, account }: Pick<Connection, 'http' | 'account'>) {
  const query = { domain: `id${account}`, filter: 'owner', count: PAGE };
  return (await http.get('/wall.get', Wall, { query })).response.items;
}
