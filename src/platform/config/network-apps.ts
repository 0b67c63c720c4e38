import { address, anyText, secretText, type Setting } from './kinds.ts';

/** The fields of an app, by the names that the adapters of networks read. */
type AppField = 'clientId' | 'clientSecret' | 'botToken' | 'consumerKey' | 'consumerSecret' | 'server';

interface NetworkApp {
  title: string;
  /** Provider ids that use the app; none: it is read and unused (S235). */
  providers: readonly string[];
  /** Field and meaning, by variable. */
  settings: Readonly<Record<string, readonly [AppField, string]>>;
  /** The app needs no secret, since PKCE protects it: one that is set is read and unused. */
  publicApp?: true;
  /** The server of an app whose variable is not set. */
  server?: string;
  /** People log in by it, too. */
  login?: string;
}

/** The apps of networks that the environment holds, each variable once. */
export const NETWORK_APPS = [
  {
    title: 'X',
    providers: ['x'],
    login: 'X',
    settings: {
      X_CLIENT_ID: ['clientId', 'OAuth 2 client id'],
      X_CLIENT_SECRET: ['clientSecret', 'OAuth 2 client secret'],
      X_API_KEY: ['consumerKey', 'OAuth 1 consumer key'],
      X_API_SECRET: ['consumerSecret', 'OAuth 1 consumer secret'],
    },
  },
  {
    title: 'LinkedIn',
    providers: ['linkedin', 'linkedin-page'],
    login: 'LinkedIn',
    settings: {
      LINKEDIN_CLIENT_ID: ['clientId', 'Client id'],
      LINKEDIN_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'Facebook and Instagram',
    providers: ['facebook', 'instagram'],
    login: 'Facebook',
    settings: { FACEBOOK_APP_ID: ['clientId', 'App id'], FACEBOOK_APP_SECRET: ['clientSecret', 'App secret'] },
  },
  {
    title: 'Instagram without Facebook',
    providers: ['instagram-standalone'],
    settings: { INSTAGRAM_APP_ID: ['clientId', 'App id'], INSTAGRAM_APP_SECRET: ['clientSecret', 'App secret'] },
  },
  {
    title: 'Discord',
    providers: ['discord'],
    settings: {
      DISCORD_CLIENT_ID: ['clientId', 'Client id'],
      DISCORD_CLIENT_SECRET: ['clientSecret', 'Client secret'],
      DISCORD_BOT_TOKEN_ID: ['botToken', 'Bot token'],
    },
  },
  {
    title: 'Slack',
    providers: ['slack'],
    settings: { SLACK_ID: ['clientId', 'Client id'], SLACK_SECRET: ['clientSecret', 'Client secret'] },
  },
  {
    title: 'TikTok',
    providers: ['tiktok'],
    settings: { TIKTOK_CLIENT_ID: ['clientId', 'Client key'], TIKTOK_CLIENT_SECRET: ['clientSecret', 'Client secret'] },
  },
  {
    title: 'YouTube',
    providers: ['youtube'],
    login: 'Google',
    settings: {
      YOUTUBE_CLIENT_ID: ['clientId', 'Client id'],
      YOUTUBE_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'Pinterest',
    providers: ['pinterest'],
    settings: {
      PINTEREST_CLIENT_ID: ['clientId', 'Client id'],
      PINTEREST_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'Reddit',
    providers: ['reddit'],
    settings: { REDDIT_CLIENT_ID: ['clientId', 'Client id'], REDDIT_CLIENT_SECRET: ['clientSecret', 'Client secret'] },
  },
  {
    title: 'Twitch',
    providers: ['twitch'],
    settings: { TWITCH_CLIENT_ID: ['clientId', 'Client id'], TWITCH_CLIENT_SECRET: ['clientSecret', 'Client secret'] },
  },
  {
    title: 'Threads',
    providers: ['threads'],
    settings: { THREADS_APP_ID: ['clientId', 'App id'], THREADS_APP_SECRET: ['clientSecret', 'App secret'] },
  },
  {
    title: 'Dribbble',
    providers: ['dribbble'],
    settings: {
      DRIBBBLE_CLIENT_ID: ['clientId', 'Client id'],
      DRIBBBLE_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'Mastodon',
    providers: ['mastodon'],
    server: 'https://mastodon.social',
    settings: {
      MASTODON_URL: ['server', 'Server'],
      MASTODON_CLIENT_ID: ['clientId', 'Client key'],
      MASTODON_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'MeWe',
    providers: ['mewe'],
    settings: {
      MEWE_APP_ID: ['clientId', 'App id'],
      MEWE_API_KEY: ['clientSecret', 'API key'],
      MEWE_HOST: ['server', 'Host'],
    },
  },
  {
    title: 'Kick',
    providers: ['kick'],
    settings: { KICK_CLIENT_ID: ['clientId', 'Client id'], KICK_SECRET: ['clientSecret', 'Client secret'] },
  },
  {
    title: 'Google Business',
    providers: ['gmb'],
    settings: {
      GOOGLE_GMB_CLIENT_ID: ['clientId', 'Client id'],
      GOOGLE_GMB_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'Farcaster (provider wrapcast)',
    providers: ['wrapcast'],
    settings: { NEYNAR_CLIENT_ID: ['clientId', 'Client id'], NEYNAR_SECRET_KEY: ['clientSecret', 'API key'] },
  },
  {
    title: 'VK',
    providers: ['vk'],
    publicApp: true,
    settings: { VK_ID: ['clientId', 'App id'], VK_SECRET: ['clientSecret', 'Secret'] },
  },
  {
    title: 'Whop',
    providers: ['whop'],
    publicApp: true,
    settings: {
      WHOP_CLIENT_ID: ['clientId', 'Client id'],
      WHOP_CLIENT_SECRET: ['clientSecret', 'Client secret'],
    },
  },
  {
    title: 'Telegram',
    providers: ['telegram'],
    settings: {
      TELEGRAM_BOT_NAME: ['clientId', 'Name of the bot'],
      TELEGRAM_TOKEN: ['clientSecret', 'Token of the bot'],
    },
  },
  {
    title: 'LINE',
    providers: [],
    settings: { LINE_CLIENT_ID: ['clientId', 'Client id'], LINE_CLIENT_SECRET: ['clientSecret', 'Client secret'] },
  },
] as const satisfies readonly NetworkApp[];

type NamesOf<T> = T extends { settings: infer S } ? keyof S : never;
type AppSettingName = NamesOf<(typeof NETWORK_APPS)[number]>;
const SECRET: ReadonlySet<AppField> = new Set(['clientSecret', 'botToken', 'consumerSecret']);

function settingOf(
  { title, providers, login, server, publicApp }: NetworkApp,
  [field, word]: readonly [AppField, string],
): Setting<string | undefined> {
  if (field === 'server' && server !== undefined)
    return address(['http', 'https'], `Server on which the app at ${title} is registered.`, { otherwise: server });
  const use =
    providers.length === 0
      ? ' Read, and used by nothing: there is no such provider.'
      : publicApp && field === 'clientSecret'
        ? ' Read, and used by nothing: PKCE protects its logins.'
        : '';
  const also = login !== undefined && field === 'clientId' ? `, also for login by ${login}` : '';
  const meaning = `${word} of the app at ${title}${also}.${use}`;
  const isUsed = login !== undefined && (field === 'clientId' || field === 'clientSecret');
  return { ...(SECRET.has(field) ? secretText(meaning) : anyText(meaning)), ...(!isUsed && { networks: providers }) };
}

/** The settings of the table. */
export const appSettings = Object.fromEntries(
  NETWORK_APPS.flatMap((app: NetworkApp) =>
    Object.entries(app.settings).map(([name, field]) => [name, settingOf(app, field)]),
  ),
) as Record<AppSettingName, Setting<string | undefined>>; // the names of the table
