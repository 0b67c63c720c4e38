import { QUOTA_MS } from '../kit/declare/waits.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { adviceAt, failureAt, quotaAt } from './_failures.ts';
import { LIMITS, Settings } from './_tiktok-post.ts';
import { tiktokPosts } from './_tiktok-posts.ts';
import { tiktokReading } from './_tiktok-reading.ts';

const CODES = {
  access_token_invalid: 'reauthorize',
  access_token_expired: 'reauthorize',
  scope_not_authorized: 'reauthorize',
  scope_permission_missed: 'reauthorize',
  rate_limit_exceeded: 'rate_limited',
  spam_risk_too_many_posts: 'rate_limited',
  spam_risk_too_many_pending_share: 'rate_limited',
  reached_active_user_cap: 'rate_limited',
} as const;
/** Limits of the account and of the app for a day. */
const DAILY = ['spam_risk_too_many_posts', 'spam_risk_too_many_pending_share', 'reached_active_user_cap'];
/** https://developers.tiktok.com/doc/content-posting-api-get-started */
export default social({
  id: 'tiktok',
  version: 'v1',
  status: 'active',
  title: 'TikTok',
  description: 'Videos and photo posts on a TikTok account, or as drafts in its inbox.',
  website: 'https://www.tiktok.com',
  authType: 'oauth2',
  setupNotes:
    'Until TikTok has audited the app, it posts for at most 5 people a day, to private accounts, visible to themselves alone. Photos are fetched from this server: its address must be verified in the portal of TikTok.',
  credentials: {},
  app: clientApp,
  api: 'https://open.tiktokapis.com/v2',
  auth: { in: 'token' },
  errorOf: failureAt('error.code', CODES),
  errorInside: failureAt('error.code', CODES, { otherwise: 'rejected', none: ['ok'] }),
  adviceOf: adviceAt('error.code', {
    unaudited_client_can_only_post_to_private_accounts:
      'TikTok must audit the app first: until then make the account private, and choose SELF_ONLY as privacy level',
  }),
  quotaOf: quotaAt('error.code', Object.fromEntries(DAILY.map((code) => [code, { againMs: QUOTA_MS }]))),
  login: {
    kind: 'oauth2',
    authorize: 'https://www.tiktok.com/v2/auth/authorize/',
    token: 'https://open.tiktokapis.com/v2/oauth/token/',
    scopes: ['user.info.basic', 'user.info.profile', 'user.info.stats', 'video.list', 'video.publish', 'video.upload'],
    scopeSeparator: ',',
    clientIdName: 'client_key',
    revoke: { at: 'https://open.tiktokapis.com/v2/oauth/revoke/' },
  },
  once: 'two-phase',
  threads: 'none',
  processesWithinMs: 6 * 3_600_000,
  pace: [{ per: 'account', posts: 6, ms: 60_000 }],
  limits: LIMITS,
  settings: Settings,
  ...tiktokPosts,
  ...tiktokReading,
});
