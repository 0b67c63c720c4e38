import { z } from 'zod';
import { clientApp } from '../kit/protocols/oauth.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import { social } from './_contract.ts';
import { place, plugsOf, titleField } from './_plugs.ts';
import { redditPosts } from './_reddit-posts.ts';
import { redditReading } from './_reddit-reading.ts';
import { PICTURE_BYTES, Settings, SITE } from './_reddit-submit.ts';

const USER_AGENT = 'server:rookery:v1';
const SUBREDDIT = place('subreddit', 'Name of the subreddit for it', 'typescript', '^[A-Za-z0-9_]{2,30}$');

/** https://www.reddit.com/dev/api */
export default social({
  id: 'reddit',
  version: 'v1',
  status: 'active',
  title: 'Reddit',
  description: 'Texts, links, pictures and videos in subreddits.',
  website: SITE,
  authType: 'oauth2',
  setupNotes:
    'Reddit approves each app under its Responsible Builder Policy before it gets a client id; commercial use needs a contract. A subreddit may remove a post without a word.',
  credentials: {},
  app: clientApp,
  api: 'https://oauth.reddit.com',
  hosts: { www: SITE },
  auth: [
    { in: 'token' },
    { in: 'header', name: 'user-agent', text: USER_AGENT },
    { in: 'header', host: 'www', name: 'user-agent', text: USER_AGENT },
  ],
  login: {
    kind: 'oauth2',
    authorize: '{www}/api/v1/authorize',
    token: '{www}/api/v1/access_token',
    scopes: ['identity', 'read', 'submit', 'flair', 'history', 'edit', 'mysubreddits'],
    asks: { duration: 'permanent' },
    secretIn: 'header',
    revoke: { at: '{www}/api/v1/revoke_token', of: 'refresh' },
    refusal: z.object({ error: z.literal(400) }).transform(() => 'reauthorize' as const), // a renewal after a revocation
  },
  once: 'read-back',
  threads: 'comment',
  editor: 'markdown',
  processesWithinMs: 30 * 60_000,
  limits: {
    text: 40_000,
    unit: 'characters',
    media: 20,
    mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'video/mp4', 'video/quicktime'],
    oneKind: true,
    image: { bytes: PICTURE_BYTES },
    video: { count: 1, bytes: 1_000_000_000, seconds: [0, 900], thumbnail: true },
    byType: {
      setting: 'subreddit.0.value.type',
      limits: { self: WITHOUT_FILES, link: WITHOUT_FILES, media: { needsMedia: true } },
    },
  },
  settings: Settings,
  plugs: plugsOf('reddit', ['auto-comment', 'repost-from'], ['reddit'], [SUBREDDIT, titleField(1, 300)]),
  ...redditPosts,
  ...redditReading,
});
