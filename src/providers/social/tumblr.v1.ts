import { QUOTA_MS } from '../kit/declare/waits.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { NUMBER_ID } from './_bounds.ts';
import { social } from './_contract.ts';
import { failureAt, quotaAt } from './_failures.ts';
import { plugsOf } from './_plugs.ts';
import { IMAGE_BYTES, IMAGE_TYPES, Settings } from './_tumblr-format.ts';
import { tumblrPosts } from './_tumblr-posts.ts';
import { tumblrReading } from './_tumblr-reading.ts';

/** Files, videos and posts of a calendar day, whose time zone Tumblr does not tell. */
const DAILY = ['8004', '8011', '8023'];
/** https://www.tumblr.com/docs/en/api/v2, posts in the Neue Post Format */
export default social({
  id: 'tumblr',
  version: 'v1',
  status: 'active',
  title: 'Tumblr',
  description: 'Posts with text, pictures, videos and links on a Tumblr blog.',
  website: 'https://www.tumblr.com',
  authType: 'oauth2',
  setupNotes:
    'Each organization registers an app of its own at tumblr.com/oauth/apps. A blog takes 250 posts, 250 pictures and 20 videos a day, one video at a time.',
  credentials: {},
  app: clientApp,
  api: 'https://api.tumblr.com/v2',
  auth: { in: 'token' },
  errorOf: failureAt('errors.0.code', {
    8004: 'rate_limited',
    8006: 'unavailable', // a file could not be taken in, so there is no post
    8009: 'unavailable', // the same of a video
    8010: 'unavailable', // a video is at work
    8011: 'rate_limited',
    8022: 'rate_limited', // the queue of the blog is full
    8023: 'rate_limited',
  }),
  quotaOf: quotaAt('errors.0.code', Object.fromEntries(DAILY.map((code) => [code, { againMs: QUOTA_MS }]))),
  login: {
    kind: 'oauth2',
    authorize: 'https://www.tumblr.com/oauth2/authorize',
    token: 'https://api.tumblr.com/v2/oauth2/token',
    scopes: ['basic', 'write', 'offline_access'],
  },
  once: 'read-back',
  threads: 'comment',
  processesWithinMs: 2 * 3_600_000,
  pace: [{ per: 'account', posts: 250, ms: 86_400_000 }],
  limits: {
    text: 32_768,
    unit: 'characters',
    media: 30,
    mediaTypes: [...IMAGE_TYPES, 'video/mp4', 'video/quicktime'],
    image: { bytes: IMAGE_BYTES },
    video: { count: 1, bytes: 500_000_000, seconds: [0, 600] },
  },
  releaseIds: NUMBER_ID,
  settings: Settings,
  plugs: plugsOf('tumblr', ['auto-repost', 'auto-comment', 'repost-from']),
  ...tumblrPosts,
  ...tumblrReading,
});
