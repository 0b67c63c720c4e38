import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { homeOf } from './_bluesky-identity.ts';
import { credentials, login } from './_bluesky-login.ts';
import { IMAGE_BYTES, IMAGE_TYPES, type Reply, writePost } from './_bluesky-post.ts';
import { countsOf, countsOfChannel, findActors, hideComment, readComments } from './_bluesky-reading.ts';
import {
  findRecord,
  GATE,
  known,
  newKey,
  NotThere,
  POST,
  publishedAs,
  Reference,
  REPOST,
  savedKey,
  writeRecord,
} from './_bluesky-records.ts';
import { prepareVideo } from './_bluesky-video.ts';
import { type Published, social } from './_contract.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';

const Me = z.object({ did: z.string(), handle: z.string() });
const ProfileRecord = z.object({
  value: z.object({
    displayName: z.string().nullish(),
    avatar: z.object({ ref: z.object({ $link: z.string() }) }).nullish(),
  }),
});

const WORDS = {
  ExpiredToken: 'reauthorize',
  InvalidToken: 'reauthorize',
  AuthMissing: 'reauthorize',
  AuthenticationRequired: 'reauthorize',
  AuthFactorTokenRequired: 'rejected', // the account's main password instead of an app password
  AccountTakedown: 'rejected',
  AccountDeactivated: 'rejected',
  RepoTakendown: 'rejected',
  RateLimitExceeded: 'rate_limited',
  InvalidSwap: 'unavailable', // somebody else wrote the record in between
  unconfirmed_email: 'rejected', // says the video service
} as const;

const GATES: Readonly<Record<string, readonly string[]>> = {
  nobody: [],
  mentioned: ['mentionRule'],
  followers: ['followerRule'],
  following: ['followingRule'],
};

/** https://docs.bsky.app/docs/advanced-guides/posts, and the lexicons of the AT Protocol */
export default social({
  id: 'bluesky',
  version: 'v1',
  status: 'active',
  title: 'Bluesky',
  description: 'Short posts on the AT Protocol; each account lives on a personal data server.',
  website: 'https://bsky.app',
  authType: 'app_password',
  setupNotes:
    'Make an app password under Settings > Privacy and security > App passwords. Never use the password of the account itself. Videos need a confirmed email address.',
  credentials,
  api: '{service}/xrpc',
  hosts: { plc: 'https://plc.directory', video: 'https://video.bsky.app' },
  auth: { in: 'token' },
  errorOf: z
    .object({ error: z.enum(Object.keys(WORDS) as (keyof typeof WORDS)[]) })
    .transform(({ error }) => WORDS[error]),
  once: 'own-id',
  threads: 'reply',
  limits: {
    text: 300,
    unit: 'graphemes',
    textBytes: 3_000,
    media: 10,
    oneKind: true,
    mediaTypes: [...IMAGE_TYPES, 'video/mp4'],
    image: { bytes: IMAGE_BYTES },
    video: { count: 1, bytes: 300_000_000, seconds: [0, 180] },
  },
  settings: z.looseObject({
    replyGate: z.enum(['everyone', 'nobody', 'mentioned', 'followers', 'following']).optional(),
    languages: z
      .array(z.string().regex(/^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/))
      .max(3)
      .optional(),
    selfLabels: z.array(z.enum(['sexual', 'nudity', 'porn', 'graphic-media'])).optional(),
  }),
  login,

  async profile({ http, values, hosts }) {
    const { did, handle } = await http.get('/com.atproto.server.getSession', Me);
    const home = await homeOf(http, hosts['plc']!, did); // a server could claim any account
    if (home !== new URL(values.service).origin)
      throw refused('rejected', `service: ${values.service} does not hold the account ${did}, which lives at ${home}`);
    const record = await http.find('/com.atproto.repo.getRecord', ProfileRecord, {
      query: { repo: did, collection: 'app.bsky.actor.profile', rkey: 'self' },
      absent: NotThere,
    });
    const picture = record?.value.avatar?.ref.$link;
    return {
      id: did,
      name: record?.value.displayName || handle,
      handle: `@${handle}`,
      server: values.service,
      ...(picture && {
        picture: `${values.service}/xrpc/com.atproto.sync.getBlob?did=${encodeURIComponent(did)}&cid=${picture}`,
      }),
    };
  },

  prepare: (call) => prepareVideo(call),
  async publish({ settings, thread, ...call }) {
    const { http, account } = call;
    const { replyGate = 'everyone', languages, selfLabels } = settings;
    const reply = replyTo(thread);
    const fields = {
      ...(languages?.length && { langs: languages }),
      ...(selfLabels?.length && {
        labels: { $type: 'com.atproto.label.defs#selfLabels', values: selfLabels.map((val) => ({ val })) },
      }),
      ...(reply && { reply }),
    };
    const rules = reply ? undefined : GATES[replyGate];
    const written = await writePost(call, fields, async ({ rkey, createdAt }) => {
      if (!rules) return;
      const allow = rules.map((rule) => ({ $type: `${GATE}#${rule}` }));
      const record = { $type: GATE, post: `at://${account}/${POST}/${rkey}`, createdAt, allow };
      await http.post('/com.atproto.repo.putRecord', Reference, {
        json: { repo: account, collection: GATE, rkey, record },
      });
    });
    return publishedAs(account, written, reply?.root);
  },
  async find({ saved, thread, ...call }) {
    const found = await findRecord(call, POST, saved);
    return found && publishedAs(call.account, found, replyTo(thread)?.root);
  },
  async remove({ http, account, published }) {
    await http.post('/com.atproto.repo.deleteRecord', z.unknown(), {
      json: { repo: account, collection: POST, rkey: published.id.split('/').at(-1) },
    });
  },

  comment: {
    once: 'own-id',
    replies: true,
    async send({ published, parent, ...call }) {
      const reply = await answerTo(call.http, parent ?? published);
      return publishedAs(call.account, await writePost(call, { reply }), reply.root);
    },
    async find({ published, parent, saved, ...call }) {
      const found = await findRecord(call, POST, saved);
      return found && publishedAs(call.account, found, (await answerTo(call.http, parent ?? published)).root);
    },
  },
  comments: async ({ http, published }) => ({ comments: await readComments(http, published) }),
  hide: ({ comment, hidden, ...call }) => hideComment(call, comment.id, hidden),
  repost: {
    once: 'own-id',
    async send({ repost: { id, published }, clock, saved, save, ...call }) {
      const { uri, cid } = await known(call.http, published);
      const key = savedKey(saved) ?? newKey(clock, id);
      if (!savedKey(saved)) await save(key);
      const record = { subject: { uri, cid }, createdAt: key.createdAt };
      const written = await writeRecord({ ...call, saved }, { collection: REPOST, rkey: key.rkey, record });
      return { id: written.uri, url: published.url };
    },
    async find({ repost: { published }, saved, ...call }) {
      const found = await findRecord(call, REPOST, saved);
      return found && { id: found.uri, url: published.url };
    },
  },

  metrics: ({ http, posts }) => countsOf(http, posts),
  metricsAtOnce: 25,
  channelMetrics: ({ http, clock, account }) => countsOfChannel(http, clock, account),
  mentions: ({ http, query }) => findActors(http, query),
  mention: ({ id }) => (/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(id) ? `@${id}` : undefined),
  plugs: [
    repostAtLikes('bluesky'),
    commentAtLikes('bluesky'),
    repostFrom('bluesky', ['bluesky']),
    commentFrom('bluesky', ['bluesky']),
  ],
});

const replyTo = (thread: readonly Published[]): Reply | undefined =>
  thread.length > 0
    ? { root: Reference.parse(thread[0]!.saved), parent: Reference.parse(thread.at(-1)!.saved) }
    : undefined;
/** Of an answer, its thread is that of the post above. */
async function answerTo(http: Http, above: Pick<Published, 'id' | 'saved'>): Promise<Reply> {
  const { uri, cid, root = { uri, cid } } = await known(http, above);
  return { root, parent: { uri, cid } };
}
