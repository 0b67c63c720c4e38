import { type ConfigIssue, type Env } from './env.ts';
import type { SettingName } from './settings.ts';

/** Credentials of the apps that the operator registered at networks, for every organization. */
export interface AppCredentials {
  clientId: string;
  /** Empty for a public app. */
  clientSecret: string;
  /** Where the app is registered, for networks of many servers. */
  server?: string;
  botToken?: string;
  /** OAuth 1 pair, for what its network does not offer otherwise. */
  consumer?: { key: string; secret: string };
}

interface Pair {
  provider: readonly string[];
  id: SettingName;
  secret: SettingName;
  publicApp?: true;
}
const PAIRS: readonly Pair[] = [
  { provider: ['x'], id: 'X_CLIENT_ID', secret: 'X_CLIENT_SECRET' },
  { provider: ['linkedin', 'linkedin-page'], id: 'LINKEDIN_CLIENT_ID', secret: 'LINKEDIN_CLIENT_SECRET' },
  { provider: ['facebook', 'instagram'], id: 'FACEBOOK_APP_ID', secret: 'FACEBOOK_APP_SECRET' },
  { provider: ['instagram-standalone'], id: 'INSTAGRAM_APP_ID', secret: 'INSTAGRAM_APP_SECRET' },
  { provider: ['discord'], id: 'DISCORD_CLIENT_ID', secret: 'DISCORD_CLIENT_SECRET' },
  { provider: ['slack'], id: 'SLACK_ID', secret: 'SLACK_SECRET' },
  { provider: ['tiktok'], id: 'TIKTOK_CLIENT_ID', secret: 'TIKTOK_CLIENT_SECRET' },
  { provider: ['youtube'], id: 'YOUTUBE_CLIENT_ID', secret: 'YOUTUBE_CLIENT_SECRET' },
  { provider: ['pinterest'], id: 'PINTEREST_CLIENT_ID', secret: 'PINTEREST_CLIENT_SECRET' },
  { provider: ['reddit'], id: 'REDDIT_CLIENT_ID', secret: 'REDDIT_CLIENT_SECRET' },
  { provider: ['twitch'], id: 'TWITCH_CLIENT_ID', secret: 'TWITCH_CLIENT_SECRET' },
  { provider: ['threads'], id: 'THREADS_APP_ID', secret: 'THREADS_APP_SECRET' },
  { provider: ['dribbble'], id: 'DRIBBBLE_CLIENT_ID', secret: 'DRIBBBLE_CLIENT_SECRET' },
  { provider: ['mastodon'], id: 'MASTODON_CLIENT_ID', secret: 'MASTODON_CLIENT_SECRET' },
  { provider: ['mewe'], id: 'MEWE_APP_ID', secret: 'MEWE_API_KEY' },
  { provider: ['kick'], id: 'KICK_CLIENT_ID', secret: 'KICK_SECRET' },
  { provider: ['gmb'], id: 'GOOGLE_GMB_CLIENT_ID', secret: 'GOOGLE_GMB_CLIENT_SECRET' },
  { provider: ['wrapcast'], id: 'NEYNAR_CLIENT_ID', secret: 'NEYNAR_SECRET_KEY' },
  { provider: ['vk'], id: 'VK_ID', secret: 'VK_SECRET', publicApp: true },
  { provider: ['whop'], id: 'WHOP_CLIENT_ID', secret: 'WHOP_CLIENT_SECRET', publicApp: true },
  { provider: ['telegram'], id: 'TELEGRAM_BOT_NAME', secret: 'TELEGRAM_TOKEN' },
];

/**
 * The apps that are whole, by provider id. Half a pair is an issue. No other provider's credentials come from the
 * environment.
 */
export function readApps(env: Env): { apps: Record<string, AppCredentials>; issues: ConfigIssue[] } {
  const issues: ConfigIssue[] = [];
  const valueOf = (name: SettingName) => env[name] as string | undefined;
  const half = (set: SettingName, missing: SettingName) =>
    issues.push({
      setting: missing,
      level: 'warning',
      message: `is missing although ${set} is set: that network has no one-click connect`,
      remedy: 'Set both, or none.',
    });
  const pair = (
    id: SettingName,
    secret: SettingName,
    publicApp?: true,
  ): { clientId: string; clientSecret: string } | undefined => {
    const [clientId, clientSecret] = [valueOf(id), valueOf(secret)];
    if (clientId && (clientSecret || publicApp)) return { clientId, clientSecret: clientSecret ?? '' };
    if (clientId) half(id, secret);
    if (clientSecret) half(secret, id);
    return undefined;
  };

  const apps: Record<string, AppCredentials> = {};
  for (const { provider, id, secret, publicApp } of PAIRS) {
    const app = pair(id, secret, publicApp);
    if (app) for (const name of provider) apps[name] = app;
  }
  const consumer = pair('X_API_KEY', 'X_API_SECRET');
  if (consumer)
    apps['x'] = {
      ...(apps['x'] ?? { clientId: '', clientSecret: '' }),
      consumer: { key: consumer.clientId, secret: consumer.clientSecret },
    };
  if (apps['mastodon'])
    apps['mastodon'] = { ...apps['mastodon'], server: env.MASTODON_URL ?? 'https://mastodon.social' };
  if (apps['mewe'] && env.MEWE_HOST) apps['mewe'] = { ...apps['mewe'], server: env.MEWE_HOST };
  if (apps['discord'] && env.DISCORD_BOT_TOKEN_ID)
    apps['discord'] = { ...apps['discord'], botToken: env.DISCORD_BOT_TOKEN_ID };
  return { apps, issues };
}
