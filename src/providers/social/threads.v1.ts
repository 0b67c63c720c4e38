import { z } from 'zod';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { graphFailure, longLogin } from './_meta-graph.ts';
import { plugsOf } from './_plugs.ts';
import { threadsPosts } from './_threads-posts.ts';
import { threadsReading } from './_threads-reading.ts';

const API = 'https://graph.threads.net';

/**
 * https://developers.facebook.com/docs/threads: of what a post can hold nothing differs by account, so there are no
 * `channelLimits`. What differs is the quota of a day, which is read before the first container of each post.
 */
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
  pace: [
    { per: 'account', posts: 250, ms: 86_400_000, of: 'posts' },
    { per: 'account', posts: 1_000, ms: 86_400_000, of: 'comments' },
  ],
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
  plugs: plugsOf('threads', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']),
  ...threadsPosts,
  ...threadsReading,
});
