import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { inRhythm, plugsOf } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';

const Account = z.object({ id: z.string(), token: z.string() });
const Me = z.object({ id: z.string(), name: z.string() });
const Accepted = z.object({ id: z.string(), url: z.url() });
const Uploaded = z.object({ id: z.string(), bytes: z.int() });
const Found = z.object({ items: z.array(Accepted) });
const Counted = z.object({
  items: z.array(z.object({ id: z.string(), likes: z.int(), comments: z.int(), reposts: z.int() })),
});
const Totals = z.object({ followers: z.int(), posts: z.int() });
const Said = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      url: z.url(),
      text: z.string(),
      account: z.string(),
      at: z.coerce.date(),
      replyTo: z.string(),
      hidden: z.boolean(),
    }),
  ),
  next: z.string().nullish(),
});
const MINUTE_MS = 60_000;

/** A practice network of this service: publishes nowhere, keeps a ledger, and fails on request (S243). */
export default social({
  id: 'sandbox',
  version: 'v1',
  title: 'Sandbox',
  description: 'A practice network on this machine: posts go nowhere, and it fails on request.',
  status: 'preview',
  optional: 'sandbox',
  authType: 'none',
  credentials: {
    name: text('Account name', { validation: '.{1,100}', help: 'Any name; the same name is the same account' }),
  },
  api: 'http://127.0.0.1:4510', // the process passes its real address
  auth: { in: 'token' },
  timeoutMs: 15_000,
  settlesWithinMs: 22_000, // it can be made to answer after 20 s
  setupNotes: 'Publishes nowhere',
  once: 'key',
  threads: 'reply',
  login: {
    kind: 'credentials',
    async signIn({ http, values }) {
      const { token } = await http.post('/accounts', Account, { json: { name: values.name } });
      return { accessToken: token };
    },
    async refresh({ http, tokens }) {
      const { token } = await http.post('/tokens', z.object({ token: z.string() }), {
        headers: { authorization: `Bearer ${tokens.accessToken}` },
      });
      return { accessToken: token };
    },
  },
  limits: { text: 10_000, unit: 'characters', media: 20, mediaTypes: ['image/*', 'video/*'] },
  settings: z.object({
    latencyMs: z.int().min(0).max(120_000).optional(),
    outcome: z
      .enum(['ok', 'rate_limited', 'error', 'error_after_accept', 'hang', 'auth_expired', 'garbage'])
      .optional(),
    retryAfterSeconds: z.int().min(0).max(86_400).optional(),
    times: z.int().min(0).max(1_000).optional(),
  }),

  async profile({ http }) {
    const { id, name } = await http.get('/me', Me);
    return { id, name, handle: name };
  },

  async publish({ http, post, settings, thread }) {
    const media: Record<string, unknown>[] = [];
    for (const item of post.media) {
      const { name, contentType, alt } = item;
      media.push({ name, contentType, alt, ...(await http.post('/media', Uploaded, { bytes: item })) });
    }
    return http.post('/posts', Accepted, {
      json: { text: post.text, media, replyTo: thread.at(-1)?.id, treatment: settings },
      idempotencyKey: post.id,
      creates: true,
    });
  },

  async find({ http, post }) {
    const { items } = await http.get('/posts', Found, { query: { key: post.id } });
    return items[0];
  },

  async remove({ http, published }) {
    await http.delete(`/posts/${encodeURIComponent(published.id)}`);
  },

  comment: {
    once: 'key',
    replies: true,
    send: ({ http, post, published, parent = published }) =>
      http.post(`/posts/${encodeURIComponent(parent.id)}/comments`, Accepted, {
        json: { text: post.text },
        idempotencyKey: post.id,
        creates: true,
      }),
    async find({ http, post }) {
      return (await http.get('/posts', Found, { query: { key: post.id } })).items[0];
    },
  },
  repost: {
    once: 'key',
    send: ({ http, repost: { id, published } }) =>
      http.post(`/posts/${encodeURIComponent(published.id)}/reposts`, Accepted, { idempotencyKey: id, creates: true }),
    async find({ http, repost: { id } }) {
      return (await http.get('/posts', Found, { query: { key: id } })).items[0];
    },
  },
  async comments({ http, published: { id: post }, cursor: after }) {
    const { items, next } = await http.get(`/posts/${encodeURIComponent(post)}/comments`, Said, { query: { after } });
    const comments = items.map(({ account, at: createdAt, replyTo, ...comment }) => ({
      ...comment,
      author: { id: account, name: account, handle: account },
      createdAt,
      parentId: replyTo === post ? undefined : replyTo,
    }));
    return { comments, next };
  },
  async hide({ http, comment: { id }, hidden }) {
    await http.put(`/posts/${encodeURIComponent(id)}/hidden`, z.unknown(), { json: { hidden } });
  },
  metricsAtOnce: 100,
  async metrics({ http, posts }) {
    const { items } = await http.get('/counts', Counted, { query: { ids: posts.map(({ id }) => id).join(',') } });
    return items.map(({ id, ...counts }) => ({ id, counts }));
  },
  async channelMetrics({ http, clock }) {
    return seriesOfNow(clock, await http.get('/totals', Totals));
  },
  // a look a minute for an hour, so that one can watch it
  plugs: inRhythm(plugsOf('sandbox', ['auto-comment', 'repost-from']), {
    runEveryMilliseconds: MINUTE_MS,
    totalRuns: 60,
  }),
  tools: {
    list_posts: {
      description: 'The newest posts of the account.',
      data: z.object({}),
      call: async ({ http }) => (await http.get('/posts', Found)).items,
    },
  },
});
