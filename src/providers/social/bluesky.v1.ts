import { blueskyFeed, Settings } from './_bluesky-feed.ts';
import { credentials, login } from './_bluesky-login.ts';
import { IMAGE_BYTES, IMAGE_TYPES } from './_bluesky-post.ts';
import { blueskyReading } from './_bluesky-reading.ts';
import { social } from './_contract.ts';
import { failureAt } from './_failures.ts';
import { plugsOf } from './_plugs.ts';

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
  errorOf: failureAt('error', {
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
  }),
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
  releaseIds: {
    form: /^at:\/\/(?<account>did:[a-z]{1,50}:[\w.:%-]{1,500})\/app\.bsky\.feed\.post\/[\w.~:-]{1,512}$/,
    words: 'the AT URI of the post: at://<did>/app.bsky.feed.post/<key>',
  },
  settings: Settings,
  login,
  plugs: plugsOf('bluesky', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']),
  ...blueskyFeed,
  ...blueskyReading,
});
