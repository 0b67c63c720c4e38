import { text } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { plugsOf } from './_plugs.ts';
import { forumPosts, Settings } from './_whop-posts.ts';
import { whopReading } from './_whop-reading.ts';

/** https://docs.whop.com/api-reference/forum-posts/create-forum-post */
export default social({
  id: 'whop',
  version: 'v1',
  status: 'active',
  title: 'Whop',
  description: 'Posts in the forums of a Whop company.',
  website: 'https://whop.com',
  authType: 'oauth2',
  setupNotes:
    'Make an app in the developer settings of Whop and allow it to create and read forum posts. Posts cannot be deleted through the API.',
  credentials: {},
  app: { clientId: text('App id') },
  api: 'https://api.whop.com/api/v1',
  auth: { in: 'token' },
  login: {
    kind: 'oauth2',
    authorize: 'https://api.whop.com/oauth/authorize',
    token: 'https://api.whop.com/oauth/token',
    scopes: ['openid', 'profile', 'email', 'forum:post:create', 'forum:read', 'company:basic:read'],
    pkce: true,
    nonce: true,
    secretIn: 'none',
    revoke: { at: 'https://api.whop.com/oauth/revoke', of: 'refresh' },
  },
  once: 'read-back',
  threads: 'comment',
  editor: 'markdown',
  limits: {
    text: 50_000,
    unit: 'characters',
    media: 10,
    mediaTypes: ['image/*', 'video/*', 'audio/*', 'application/pdf'],
    video: { bytes: 5_000_000_000 },
  },
  settings: Settings,
  plugs: plugsOf('whop', ['auto-comment', 'comment-from']),
  ...forumPosts,
  ...whopReading,
});
