import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { type NewComment, type Published, social } from './_contract.ts';
import { pollMedia, prepareContainer, publishContainer, readMedia } from './_meta-containers.ts';
import { graphFailure, Id, longLogin, removeNode } from './_meta-graph.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';
import { accountCounts, containers, conversation, findItem, findRepost, postCounts, publishAt } from './_threads.ts';

const API = 'https://graph.threads.net';
const Me = Id.extend({
  username: z.string(),
  name: z.string().nullish(),
  threads_profile_picture_url: z.url().nullish().catch(undefined),
});
/** A later item of a thread answers the one before. */
const itemOf = <C extends { thread: readonly Published[] }>(call: C) => ({ ...call, replyTo: call.thread.at(-1)?.id });
const answerOf = <C extends NewComment>(call: C) => ({ ...call, replyTo: call.parent?.id ?? call.published.id });

/** https://developers.facebook.com/docs/threads */
export default social({
  id: 'threads',
  version: 'v1',
  status: 'active',
  title: 'Threads',
  description: 'Posts with text, pictures and videos, threads and answers on Threads.',
  website: 'https://www.threads.com',
  authType: 'oauth2',
  setupNotes:
    'Until Meta has reviewed the permissions of the app, only its testers can connect. Threads fetches files from this server or its storage, which must have a public address.',
  credentials: {},
  app: clientApp,
  api: `${API}/v1.0`,
  auth: { in: 'token' },
  errorOf: graphFailure,
  login: longLogin(
    {
      authorize: 'https://www.threads.net/oauth/authorize',
      token: `${API}/oauth/access_token`,
      scopes: [
        'threads_basic',
        'threads_content_publish',
        'threads_manage_replies',
        'threads_read_replies',
        'threads_manage_insights',
        'threads_delete',
      ],
    },
    API,
    'th',
  ),
  once: 'two-phase',
  threads: 'reply',
  pace: [{ per: 'account', posts: 250, ms: 86_400_000 }],
  limits: {
    text: 500,
    unit: 'emoji-bytes',
    media: 20,
    mediaTypes: ['image/jpeg', 'image/png', 'video/mp4', 'video/quicktime'],
    image: { bytes: 8_000_000, ratio: [0.1, 10] },
    video: { bytes: 1_000_000_000, seconds: [0, 300] },
    links: 5,
    fetches: ['image', 'video'],
  },
  settings: z.looseObject({}),
  plugs: [
    repostAtLikes('threads'),
    commentAtLikes('threads'),
    repostFrom('threads', ['threads']),
    commentFrom('threads', ['threads']),
  ],

  async profile({ http }) {
    const query = { fields: 'id,username,name,threads_profile_picture_url' };
    const { id, username, name, threads_profile_picture_url: picture } = await http.get('/me', Me, { query });
    return { id, name: name || username, handle: `@${username}`, ...(picture && { picture }) };
  },

  prepare: (call) => prepareContainer(containers(itemOf(call)), call),
  async publish(call) {
    await publishContainer(call.http, publishAt(call), call);
    return { processingMs: 0 };
  },
  poll: pollMedia,
  find: (call) => findItem(itemOf(call), call),
  remove: ({ http, published: { id } }) => removeNode(http, id),

  comment: {
    once: 'two-phase',
    replies: true,
    async send({ saved, save, ...call }) {
      const attempt = { saved, save: async (state: unknown) => save((attempt.saved = state)), post: call.post };
      const ready = await prepareContainer(containers(answerOf(call)), attempt);
      if (ready !== 'ready') throw refused('unavailable', 'Threads still works on the files', ready.againMs);
      return readMedia(call.http, await publishContainer(call.http, publishAt(call), attempt));
    },
    find: (call) => findItem(answerOf(call), call),
  },
  comments: conversation,
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/${id}/manage_reply`, z.unknown(), { form: { hide: String(hidden) } });
  },
  repost: {
    once: 'read-back',
    async send({ http, repost: { published } }) {
      const { id } = await http.post(`/${published.id}/repost`, Id, { creates: true });
      return { id, url: published.url };
    },
    find: ({ repost: { published }, since, ...call }) => findRepost(call, published, since),
  },

  metrics: postCounts,
  channelMetrics: accountCounts,
});
