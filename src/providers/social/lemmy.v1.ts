import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text, type ValuesOf } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Media, social, type Tokens, tool } from './_contract.ts';
import {
  Absent,
  api,
  commentAt,
  CommentReply,
  handleOf,
  imageAt,
  Me,
  postAt,
  PostReply,
  type Version,
} from './_lemmy-api.ts';
import {
  countsOf,
  idHere,
  ownComments,
  ownCounts,
  ownPosts,
  readComments,
  searchCommunities,
  searchPeople,
} from './_lemmy-reading.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'];
const WORDS = {
  incorrect_login: 'reauthorize',
  not_logged_in: 'reauthorize',
  missing_totp_token: 'reauthorize',
  rate_limit_error: 'rate_limited',
} as const;

const credentials = {
  service: text('Server', {
    form: 'origin',
    default: 'https://lemmy.world',
    help: 'The address of your server, for example https://lemmy.example',
  }),
  identifier: text('User name or email', { validation: '.{1,300}' }),
  password: secret('Password'),
};
type Typed = ValuesOf<typeof credentials>;

const Target = z.looseObject({
  id: z.union([z.string().regex(/^\d{1,18}$/), z.int().positive()]).transform(Number),
  subreddit: z.string().optional(),
  title: z.string().min(3).max(200),
  url: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).optional(),
});
const Login = z.object({ jwt: z.string().nullish(), registration_created: z.boolean() });
/** Addresses of the pictures that the server has. */
const Saved = z.object({ images: z.array(z.string()) }).catch({ images: [] });

/** Signs in, and keeps which version of the API the server has. */
async function signIn({ http, values }: { http: Http; values: Typed }): Promise<Tokens> {
  const site = await http.find('/api/v4/site', z.object({ version: z.string() }));
  const version: Version = site ? 'v4' : 'v3';
  const { at, login } = api({ api: version });
  const { jwt } = await http.post(at + login, Login, {
    json: {
      username_or_email: values.identifier,
      password: values.password,
      ...(site && { stay_logged_in: true }),
    },
  });
  if (!jwt) throw refused('rejected', 'Lemmy waits for the email or the registration of this account to be confirmed');
  return { accessToken: jwt, values: { api: version } };
}

/** https://join-lemmy.org/docs/contributors/04-api.html */
export default social({
  id: 'lemmy',
  version: 'v1',
  status: 'active',
  title: 'Lemmy',
  description: 'Posts in communities of a federated Lemmy server.',
  website: 'https://join-lemmy.org',
  authType: 'password',
  setupNotes:
    'Lemmy has no app passwords: the password of the account is kept, encrypted. Accounts with a second factor cannot be connected.',
  credentials,
  api: '{service}',
  auth: { in: 'token' },
  errorOf: z
    .object({ error: z.enum(Object.keys(WORDS) as (keyof typeof WORDS)[]) })
    .transform(({ error }) => WORDS[error]),
  login: { kind: 'credentials', signIn, refresh: signIn },
  once: 'read-back',
  threads: 'comment',
  editor: 'markdown',
  limits: { text: 10_000, unit: 'characters', media: 10, mediaTypes: IMAGE_TYPES },
  // one post has one community: its answer names one id
  settings: z.looseObject({
    subreddit: z.tuple([z.looseObject({ value: Target })], 'name one community: each post goes to one'),
  }),
  plugs: [commentAtLikes('lemmy'), commentFrom('lemmy', ['lemmy'])],

  async profile({ http, values }) {
    const me = await http.get(api(values).at + api(values).me, Me);
    return {
      id: `${me.id}@${new URL(values.service).host}`,
      name: me.display_name || me.name,
      handle: handleOf(me),
      server: values.service,
      ...(me.avatar && { picture: me.avatar }),
    };
  },
  async prepare({ http, values, post, saved, save }) {
    const { images } = Saved.parse(saved);
    const next = post.media[images.length];
    if (!next) return 'ready';
    await save({ images: [...images, await uploaded(http, values, next)] });
    return post.media.length === images.length + 1 ? 'ready' : { againMs: 0 };
  },
  async publish({ http, values, post, settings, saved }) {
    const { title: name, url, id } = settings.subreddit[0].value;
    const pictures = Saved.parse(saved).images.map((at, n) => ({ at, alt: post.media[n]?.alt ?? '' }));
    const [first, ...rest] = url ? [undefined, ...pictures] : pictures;
    const body = [post.text, ...rest.map((one) => one && `![${one.alt.replace(/[[\]\\]/g, '\\$&')}](${one.at})`)];
    const { post_view: made } = await http.post(`${api(values).at}/post`, PostReply, {
      json: {
        name,
        community_id: id,
        ...(url ? { url } : first && { url: first.at, ...(first.alt !== '' && { alt_text: first.alt }) }),
        ...(body.some(Boolean) && { body: body.filter(Boolean).join('\n\n') }),
      },
      creates: true,
    });
    return postAt(values.service, made.id);
  },
  find: ({ settings, saved, ...call }) =>
    ownPosts({ ...call, target: settings.subreddit[0].value, images: Saved.parse(saved).images }),
  async remove({ http, values, published: { id } }) {
    const json = { post_id: Number(id), deleted: true };
    if (api(values).at === '/api/v4') await http.delete('/api/v4/post', { json });
    else await http.find('/api/v3/post/delete', z.unknown(), { json, absent: Absent });
  },

  comment: {
    once: 'read-back',
    replies: true,
    async send({ http, values, published, parent, post }) {
      const { comment_view: made } = await http.post(`${api(values).at}/comment`, CommentReply, {
        json: {
          content: post.text,
          post_id: await idHere({ http, values }, published),
          ...(parent && { parent_id: Number(parent.id) }),
        },
        creates: true,
      });
      return commentAt(values.service, made.id);
    },
    find: (call) => ownComments(call),
  },
  comments: (call) => readComments(call),
  metrics: (call) => countsOf(call),
  channelMetrics: (call) => ownCounts(call),
  mentions: (call) => searchPeople(call),
  mention: ({ id, label }) =>
    /^https:\/\/[\w./@~:-]+$/.test(id) && /^@[\w.-]+@[\w.:-]+$/.test(label)
      ? `[${label.replaceAll('_', '\\_')}](${id})`
      : undefined,
  tools: {
    subreddits: tool({
      description: 'Searches communities by a word',
      data: z.object({ word: z.string().min(1).max(100) }),
      call: ({ http, values, data: { word } }) => searchCommunities({ http, values, query: word }),
    }),
  },
});

async function uploaded(http: Http, values: Typed, item: Media): Promise<string> {
  const file = await item.fit({ types: IMAGE_TYPES });
  if (!file) throw refused('rejected', `Lemmy takes pictures only: ${item.name}`);
  return http.post(api(values).image, imageAt(values.service), { multipart: { 'images[]': file } });
}
