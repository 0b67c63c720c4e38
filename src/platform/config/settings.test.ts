// oxlint-disable max-lines -- a table: one row for each setting
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment } from './env.ts';
import { readConfig } from './config.ts';
import { CHAPTERS } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'rookery-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const JWT = 'a0d5b1bd377297462aae2993948fbeb1f83ebdd7f1d21fb37346639215cf9e2c';
const KEY = '0cf51729f80634a127a39cd5e31af6b11dc94b0e1525d9f026db701245a08994';
const development = { DATA_FOLDER: folder, JWT_SECRET: JWT };
const production = {
  NODE_ENV: 'production',
  DATA_FOLDER: folder,
  JWT_SECRET: JWT,
  ENCRYPTION_KEY: KEY,
  DATABASE_URL: 'postgres://u:p@db:5432/rookery',
  REDIS_URL: 'redis://cache:6379',
  FRONTEND_URL: 'https://app.example.com',
  NEXT_PUBLIC_BACKEND_URL: 'https://app.example.com/api',
  BACKEND_INTERNAL_URL: 'http://127.0.0.1:3000',
  IS_GENERAL: 'true',
};
const read = (more: Environment = {}) => readConfig({ ...development, ...more });
const found = (environment: Environment, level?: 'fatal' | 'warning') =>
  readConfig(environment)
    .issues.filter((issue) => level === undefined || issue.level === level)
    .map(({ setting }) => setting);

describe('SMTP settings', () => {
  const smtp = {
    ...production,
    EMAIL_PROVIDER: 'smtp',
    EMAIL_SMTP_HOST: 'mail.example.com',
    EMAIL_FROM_ADDRESS: 'no-reply@example.com',
  };

  test('a complete configuration selects SMTP; the port defaults to 587, and encryption follows the port [DE8, EM10]', () => {
    const { issues, config } = readConfig(smtp);
    expect(issues).toEqual([]);
    expect(config.email.provider).toMatchObject({
      id: 'smtp',
      values: { host: 'mail.example.com', port: '587', secure: 'starttls', fromName: 'Rookery' },
    });
    expect(
      readConfig({ ...smtp, EMAIL_PROVIDER: 'SMTP', EMAIL_SMTP_PORT: '465' }).config.email.provider?.values,
    ).toMatchObject({ port: '465', secure: 'tls' });
  });

  test('mail is off without settings [DE9]', () => expect(read().config.email.provider).toBeUndefined());

  test.each([
    ['EMAIL_SMTP_HOST', { EMAIL_SMTP_HOST: '' }],
    ['EMAIL_FROM_ADDRESS', { EMAIL_FROM_ADDRESS: '' }],
    ['EMAIL_FROM_ADDRESS', { EMAIL_FROM_ADDRESS: 'Rookery <no-reply@example.com>' }],
    ['EMAIL_FROM_ADDRESS', { EMAIL_FROM_ADDRESS: 'a@example.com\r\nBcc: b@example.com' }],
    ['EMAIL_SMTP_USER', { EMAIL_SMTP_PASSWORD: 'secret' }],
    ['EMAIL_SMTP_USER', { EMAIL_SMTP_USER: 'ann' }],
  ])('%s is fatal with %j', (setting, given) => expect(found({ ...smtp, ...given }, 'fatal')).toEqual([setting]));

  test('a password over an unencrypted connection is a warning, except on this machine', () => {
    const plain = { ...smtp, EMAIL_SMTP_SECURE: 'none', EMAIL_SMTP_USER: 'ann', EMAIL_SMTP_PASSWORD: 'secret' };
    expect(found(plain)).toEqual(['EMAIL_SMTP_SECURE']);
    expect(found({ ...plain, EMAIL_SMTP_HOST: '127.0.0.1' })).toEqual([]);
  });
});

describe('settings of mail providers', () => {
  const WHOLE: Record<string, Record<string, string>> = {
    resend: { EMAIL_API_KEY: 're_1', EMAIL_WEBHOOK_SECRET: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz' },
    sendgrid: { EMAIL_API_KEY: 'SG.1', EMAIL_REGION: 'eu', EMAIL_WEBHOOK_SECRET: `MFkw${'A'.repeat(119)}=` },
    mailgun: {
      EMAIL_API_KEY: 'key-1',
      EMAIL_DOMAIN: 'mg.example.com',
      EMAIL_REGION: 'eu',
      EMAIL_WEBHOOK_SECRET: 'signing-0123456789',
    },
    postmark: { EMAIL_API_KEY: 'token-1', EMAIL_STREAM: 'outbound', EMAIL_WEBHOOK_SECRET: 'a-long-random-password' },
    ses: {
      EMAIL_ACCESS_KEY_ID: 'AKIA1234',
      EMAIL_API_KEY: 'secret-1',
      EMAIL_REGION: 'eu-west-1',
      EMAIL_STREAM: 'events',
      EMAIL_WEBHOOK_SECRET: 'arn:aws:sns:eu-west-1:123456789012:mail',
    },
  };
  const NEEDED: Record<string, string[]> = {
    resend: ['EMAIL_API_KEY'],
    sendgrid: ['EMAIL_API_KEY'],
    mailgun: ['EMAIL_API_KEY', 'EMAIL_DOMAIN'],
    postmark: ['EMAIL_API_KEY'],
    ses: ['EMAIL_ACCESS_KEY_ID', 'EMAIL_API_KEY', 'EMAIL_REGION'],
  };
  const by = (name: string, more: Record<string, string> = {}) => ({
    ...production,
    EMAIL_PROVIDER: name,
    EMAIL_FROM_ADDRESS: 'no-reply@example.com',
    ...WHOLE[name],
    ...more,
  });

  test.each(Object.keys(WHOLE))(
    '%s is selected by its settings, and each of them reaches the adapter [DE8]',
    (name) => {
      const { issues, config } = readConfig(by(name));
      expect(issues).toEqual([]);
      const { id, values } = config.email.provider!;
      expect([id, Object.values(values).toSorted()]).toEqual([
        name,
        [...Object.values(WHOLE[name]!), 'no-reply@example.com', 'Rookery'].toSorted(),
      ]);
    },
  );

  test.each(Object.entries(NEEDED))(
    '%s without its required settings does not start and sends nothing',
    (name, needed) => {
      for (const setting of needed) expect(found(by(name, { [setting]: '' }), 'fatal')).toEqual([setting]);
      expect(found({ ...by(name), EMAIL_FROM_ADDRESS: '' }, 'fatal')).toEqual(['EMAIL_FROM_ADDRESS']);
      expect(read(by(name, { [needed[0]!]: '' })).config.email.provider).toBeUndefined();
      expect(found(by(name, { EMAIL_WEBHOOK_SECRET: '' }))).toEqual([]);
    },
  );

  test.each([
    ['sendgrid', 'EMAIL_REGION', 'us'],
    ['mailgun', 'EMAIL_REGION', 'eu-west-1'],
    ['mailgun', 'EMAIL_DOMAIN', 'mg.example.com/../v4'],
    ['postmark', 'EMAIL_STREAM', 'a b'],
    ['ses', 'EMAIL_REGION', 'eu-west-1.evil.example/'],
    ['ses', 'EMAIL_ACCESS_KEY_ID', 'a/b'],
  ])('%s does not start with an unusable %s: %j', (name, setting, value) => {
    expect(found(by(name, { [setting]: value }), 'fatal')).toEqual([setting]);
  });

  test.each([
    ['resend', 'a-password'],
    ['sendgrid', 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz'],
    ['postmark', 'short'],
    ['ses', 'mail'],
  ])('a missing key to verify the events of %s is a warning, and mail goes on: %j', (name, secret) => {
    const { issues, config } = readConfig(by(name, { EMAIL_WEBHOOK_SECRET: secret }));
    expect(issues.map(({ setting, level }) => [setting, level])).toEqual([['EMAIL_WEBHOOK_SECRET', 'warning']]);
    expect(JSON.stringify(issues)).not.toContain(secret.length > 8 ? secret : '"short"');
    expect(config.email.provider?.id).toBe(name);
  });

  test('property names of every object are no provider', () => {
    for (const name of ['constructor', '__proto__', 'toString'])
      expect(found({ ...production, EMAIL_PROVIDER: name })).toEqual(['EMAIL_PROVIDER']);
  });
});

describe('payment processor settings', () => {
  const keys = { PAYMENTS_PUBLISHABLE_KEY: 'pk_1', PAYMENTS_SECRET_KEY: 'sk_1', PAYMENTS_SIGNING_KEY: 'whsec_1' };

  test('the three keys together turn billing on; the discount is unset by default [DE6]', () => {
    const { issues, config } = readConfig({ ...production, ...keys });
    expect(issues).toEqual([]);
    expect(config.payments).toMatchObject({
      publishableKey: 'pk_1',
      secretKey: 'sk_1',
      signingKey: 'whsec_1',
      discountId: undefined,
      serviceName: 'service',
    });
  });

  test.each(['PAYMENTS_SECRET_KEY', 'PAYMENTS_SIGNING_KEY'] as const)(
    'a missing %s beside the publishable key ends the start',
    (name) => {
      expect(readConfig({ ...production, ...keys, [name]: '' })).toMatchObject({
        exits: true,
        issues: [{ setting: name, level: 'fatal' }],
      });
    },
  );

  test.each(['PAYMENTS_SECRET_KEY', 'PAYMENTS_SIGNING_KEY', 'PAYMENTS_DISCOUNT_ID'] as const)(
    '%s alone is a warning, and billing is off',
    (name) => {
      const { issues, exits, config } = readConfig({ ...production, [name]: 'x' });
      expect({ issues, exits, key: config.payments.publishableKey }).toMatchObject({
        issues: [{ setting: name, level: 'warning' }],
        exits: false,
        key: undefined,
      });
    },
  );
});

describe('single settings', () => {
  test.each([
    ['PORT', '70000'],
    ['API_LIMIT', '0'],
    ['API_LIMIT', '1.5'],
    ['RATE_LIMIT_SCALE', '-1'],
    ['RATE_LIMIT_SCALE', 'NaN'],
    ['DISABLE_REGISTRATION', 'maybe'],
    ['DATABASE_URL', 'mysql://x/y'],
    ['REDIS_URL', 'localhost:6379'],
    ['FRONTEND_URL', 'app.example.com'],
    ['FRONTEND_URL', 'https://app.example.com/?from=mail'],
    ['MAIN_URL', 'https://app.example.com/#top'],
    ['NEXT_PUBLIC_BACKEND_URL', 'https://ann:word@app.example.com'],
    ['ACTOR_ENGINE', 'orleans'],
    ['SSRF_ALLOWED_PRIVATE_CIDRS', '10.0.0.0/8,10.0.0.0'],
    ['SSRF_ALLOWED_PRIVATE_CIDRS', '10.0.0.0/33'],
    ['SSRF_ALLOWED_PRIVATE_CIDRS', '10.0.0.1/8'],
    ['OPERATOR_ALLOWED_PRIVATE_CIDRS', '10.0.0.0/33'],
    ['OPERATOR_ALLOWED_PRIVATE_CIDRS', 'fe80::1%eth0/64'],
    ['EGRESS_SIDECARS', 'someone@127.0.0.1:1080'],
    ['INTEGRATION_RETURN_URL_ALLOWLIST', 'https://partner.example/path'],
    ['RESTRICT_UPLOAD_DOMAINS', 'https://cdn.example.com'],
    ['LOG_LEVEL', 'loud'],
    ['IP_RETENTION_DAYS', '0'],
  ])('%s = %s is fatal and named', (name, value) => {
    expect(found({ ...production, [name]: value }, 'fatal')).toContain(name);
  });

  test('booleans are read in the usual words', () => {
    for (const word of ['true', 'TRUE', '1', 'yes', 'on'])
      expect(read({ DISABLE_REGISTRATION: word }).config.registration.disabled).toBe(true);
    for (const word of ['false', '0', 'no', 'off'])
      expect(read({ DISABLE_REGISTRATION: word }).config.registration.disabled).toBe(false);
  });

  test('registration settings are read [DE11, DE14]', () => {
    expect(read().config.registration).toMatchObject({ disabled: false, disallowPlus: false });
    expect(read({ DISABLE_REGISTRATION: 'true', DISALLOW_PLUS: 'true' }).config.registration).toMatchObject({
      disabled: true,
      disallowPlus: true,
    });
  });

  test('a list of refused passwords is read, and a path without one is an issue', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'rookery-passwords-')), 'refused.txt');
    writeFileSync(file, 'secret12\r\n\n pass word\n');
    expect(read({ REFUSED_PASSWORDS_FILE: file }).config.registration.refusedPasswords).toEqual([
      'secret12',
      ' pass word',
    ]);
    for (const path of [tmpdir(), `${file}.gone`])
      expect(found({ ...development, REFUSED_PASSWORDS_FILE: path }, 'fatal')).toEqual(['REFUSED_PASSWORDS_FILE']);
  });

  test('settings of OIDC login and login buttons are read [DE15, DE16, DE17, DE18, DE19, DE20, DE21, DE22, DE23, DE24]', () => {
    expect(read().config.login).toMatchObject({
      generic: { enabled: false, scope: 'openid profile email' },
      facebook: false,
      x: false,
      linkedin: false,
    });
    const login = {
      SERVICE_GENERIC_OAUTH: 'true',
      SERVICE_OAUTH_AUTH_URL: 'https://id.example/auth',
      SERVICE_OAUTH_TOKEN_URL: 'https://id.example/token',
      SERVICE_OAUTH_USERINFO_URL: 'https://id.example/me',
      SERVICE_OAUTH_CLIENT_ID: 'id',
      SERVICE_OAUTH_CLIENT_SECRET: 'secret',
      SERVICE_OAUTH_SCOPE: 'openid',
      FACEBOOK_SSO_ENABLED: 'true',
      X_SSO_ENABLED: 'true',
      LINKEDIN_SSO_ENABLED: 'true',
    };
    expect(read(login)).toMatchObject({
      issues: ['FACEBOOK_SSO_ENABLED', 'X_SSO_ENABLED', 'LINKEDIN_SSO_ENABLED'].map((setting) => ({
        setting,
        level: 'warning',
      })), // without the apps of the networks
      config: {
        login: {
          generic: {
            enabled: true,
            authUrl: 'https://id.example/auth',
            tokenUrl: 'https://id.example/token',
            userinfoUrl: 'https://id.example/me',
            clientId: 'id',
            clientSecret: 'secret',
            scope: 'openid',
          },
          facebook: true,
          x: true,
          linkedin: true,
        },
      },
    });
    expect(found({ ...development, SERVICE_GENERIC_OAUTH: 'true' }, 'warning')).toHaveLength(5);
  });

  test('settings of pool, schema changes, trace names, budgets and X are read', () => {
    expect(read().config).toMatchObject({
      database: { connections: 8, poolTimeoutSeconds: undefined, allowDestructive: false },
      telemetry: { serviceName: 'service-backend', otlpEndpoint: undefined },
      ai: { enforceBudgets: true },
      social: { stripLinksFrom: [] },
      analytics: { skippedNetworks: [] },
    });
    expect(
      read({
        DATABASE_CONNECTION_LIMIT: '20',
        DATABASE_POOL_TIMEOUT: '5',
        ALLOW_DESTRUCTIVE_SCHEMA: 'true',
        OTEL_SERVICE_NAME: 'mine',
        AI_PROVIDER_BUDGET_ENFORCE: 'false',
        STRIP_LINKS_FROM_X_POSTS: 'true',
        DISABLE_X_ANALYTICS: 'true',
      }).config,
    ).toMatchObject({
      database: { connections: 20, poolTimeoutSeconds: 5, allowDestructive: true },
      telemetry: { serviceName: 'mine' },
      ai: { enforceBudgets: false },
      social: { stripLinksFrom: ['x'] },
      analytics: { skippedNetworks: ['x'] },
    });
  });

  test('the listen address decides about loopback for outbound requests [DE35, S265]', () => {
    expect(read({ BACKEND_LISTEN_HOST: '0.0.0.0' }).config).toMatchObject({
      http: { host: '0.0.0.0', backendUrl: 'http://127.0.0.1:3000' },
      outbound: { allowedPrivateCidrs: [] },
    });
    expect(read({ BACKEND_LISTEN_HOST: '::1', PORT: '81' }).config).toMatchObject({
      http: { host: '::1', backendUrl: 'http://[::1]:81' },
      outbound: { allowedPrivateCidrs: ['127.0.0.1/32'] },
    });
    expect(read({ SSRF_ALLOWED_PRIVATE_CIDRS: '10.0.0.0/8, fd00::/8' }).config.outbound.allowedPrivateCidrs).toEqual([
      '10.0.0.0/8',
      'fd00::/8',
    ]);
    expect(read({ SSRF_ALLOWED_PRIVATE_CIDRS: 'all' }).config.outbound.allowedPrivateCidrs).toEqual([]);
  });

  test('METRICS_LISTEN_HOST is the address of the metrics, and a reachable one requires METRICS_TOKEN', () => {
    expect(read({}).config.telemetry.metricsHost).toBe('127.0.0.1');
    expect(read({ METRICS_LISTEN_HOST: '::1' })).toMatchObject({
      exits: false,
      config: { telemetry: { metricsHost: '::1' } },
    });
    expect(read({ METRICS_LISTEN_HOST: '0.0.0.0' }).exits).toBe(true);
    expect(found({ METRICS_LISTEN_HOST: '0.0.0.0' }, 'fatal')).toEqual(['METRICS_LISTEN_HOST']);
    expect(read({ METRICS_LISTEN_HOST: '0.0.0.0', METRICS_TOKEN: 'a-token-that-is-long-enough-to-be-one' }).exits).toBe(
      false,
    );
  });
  test('SHUTDOWN_DELAY_SECONDS defaults to 3 in production and 0 elsewhere', () => {
    const delay = (more: Environment) => readConfig({ JWT_SECRET: JWT, ...more }).config.http.shutdownDelayMs;
    expect([delay({}), delay({ NODE_ENV: 'production' }), delay({ SHUTDOWN_DELAY_SECONDS: '7' })]).toEqual([
      0, 3_000, 7_000,
    ]);
  });
  test('return origins of partners are read [DE25]', () => {
    expect(
      read({ INTEGRATION_RETURN_URL_ALLOWLIST: 'https://a.example, https://b.example:8443/' }).config.social
        .returnUrlAllowlist,
    ).toEqual(['https://a.example', 'https://b.example:8443']);
    expect(read().config.social.returnUrlAllowlist).toEqual([]);
  });

  test('COLLAB_SINGLE_INSTANCE false warns without COLLAB_REDIS_ADAPTER, and not with it [CL3, CL4]', () => {
    expect(found({ ...production, COLLAB_SINGLE_INSTANCE: 'false' }, 'warning')).toEqual(['COLLAB_SINGLE_INSTANCE']);
    expect(found({ ...production, COLLAB_SINGLE_INSTANCE: 'false', COLLAB_REDIS_ADAPTER: 'true' })).toEqual([]);
    const url = (more: Environment) => readConfig({ JWT_SECRET: JWT, ...more }).config.collaboration.redisUrl;
    const [one, two] = ['redis://one:6379', 'rediss://two:6379'];
    expect([
      url({}),
      url({ REDIS_URL: one, COLLAB_REDIS_ADAPTER: 'true' }),
      url({ COLLAB_REDIS_ADAPTER: two }),
    ]).toEqual([undefined, one, two]);
    expect(found({ COLLAB_REDIS_ADAPTER: 'true' }, 'fatal')).toEqual(['COLLAB_REDIS_ADAPTER']);
    expect(found({ COLLAB_REDIS_ADAPTER: 'yes' }, 'fatal')).toEqual(['COLLAB_REDIS_ADAPTER']);
  });

  test('retention and add-on packs have the defaults of the interface', () => {
    const { retention, addons, analytics } = read().config;
    expect(retention).toEqual({
      analyticsDaily: 548,
      analyticsPost: 90,
      emailLog: 90,
      errors: 90,
      notifications: 180,
      mediaJobs: 90,
      multipartUploads: 7,
      softDeleted: 30,
      ip: 90,
      socialComments: 90,
      campaigns: 30,
      designerSessions: 90,
      traces: 30,
      audit: 365,
    });
    expect(addons).toEqual({
      storageGb: { perPack: 25, priceCents: 1900 },
      videoExports: { perPack: 50, priceCents: 1900 },
      channels: { perPack: 5, priceCents: 1900 },
      teamSeats: { perPack: 5, priceCents: 1500 },
      posts: { perPack: 500, priceCents: 900 },
      brandKits: { perPack: 5, priceCents: 900 },
      webhooks: { perPack: 10, priceCents: 900 },
      competitors: { perPack: 10, priceCents: 900 },
    });
    expect(analytics).toEqual({
      anomalyZ: 3,
      anomalyCooldownDays: 3,
      commentsSweepMinutes: 30,
      postDaysBack: 30,
      skippedNetworks: [],
      mostPages: { x: 10 },
    });
  });
});

describe('app credentials of networks', () => {
  const pairs: Record<string, readonly [string, string]> = {
    x: ['X_CLIENT_ID', 'X_CLIENT_SECRET'],
    linkedin: ['LINKEDIN_CLIENT_ID', 'LINKEDIN_CLIENT_SECRET'],
    facebook: ['FACEBOOK_APP_ID', 'FACEBOOK_APP_SECRET'],
    instagram: ['FACEBOOK_APP_ID', 'FACEBOOK_APP_SECRET'],
    discord: ['DISCORD_CLIENT_ID', 'DISCORD_CLIENT_SECRET'],
    slack: ['SLACK_ID', 'SLACK_SECRET'],
    tiktok: ['TIKTOK_CLIENT_ID', 'TIKTOK_CLIENT_SECRET'],
    youtube: ['YOUTUBE_CLIENT_ID', 'YOUTUBE_CLIENT_SECRET'],
    pinterest: ['PINTEREST_CLIENT_ID', 'PINTEREST_CLIENT_SECRET'],
    reddit: ['REDDIT_CLIENT_ID', 'REDDIT_CLIENT_SECRET'],
    twitch: ['TWITCH_CLIENT_ID', 'TWITCH_CLIENT_SECRET'],
    threads: ['THREADS_APP_ID', 'THREADS_APP_SECRET'],
    dribbble: ['DRIBBBLE_CLIENT_ID', 'DRIBBBLE_CLIENT_SECRET'],
    mastodon: ['MASTODON_CLIENT_ID', 'MASTODON_CLIENT_SECRET'],
    mewe: ['MEWE_APP_ID', 'MEWE_API_KEY'],
    kick: ['KICK_CLIENT_ID', 'KICK_SECRET'],
    gmb: ['GOOGLE_GMB_CLIENT_ID', 'GOOGLE_GMB_CLIENT_SECRET'],
    wrapcast: ['NEYNAR_CLIENT_ID', 'NEYNAR_SECRET_KEY'],
    vk: ['VK_ID', 'VK_SECRET'],
    whop: ['WHOP_CLIENT_ID', 'WHOP_CLIENT_SECRET'],
    telegram: ['TELEGRAM_BOT_NAME', 'TELEGRAM_TOKEN'],
  };

  test.each(Object.entries(pairs))('credentials of %s are read from %p', (provider, [id, secret]) => {
    expect(read({ [id]: 'the id', [secret]: 'the secret' }).config.social.apps[provider]).toMatchObject({
      clientId: 'the id',
      clientSecret: 'the secret',
    });
  });

  test('no other provider has credentials from the environment [DE40]', () => {
    const all = Object.fromEntries(
      Object.entries(CHAPTERS['App credentials of networks']).map(([name]) => [
        name,
        name === 'MASTODON_URL' ? 'https://social.example' : 'value',
      ]),
    );
    expect(Object.keys(read(all).config.social.apps).toSorted()).toEqual(
      [...Object.keys(pairs), 'instagram-standalone', 'linkedin-page'].toSorted(),
    );
    expect(
      read({ BLUESKY_CLIENT_ID: 'a', BLUESKY_CLIENT_SECRET: 'b', TUMBLR_CLIENT_ID: 'a', TUMBLR_CLIENT_SECRET: 'b' })
        .config.social.apps,
    ).toEqual({});
  });

  test('mastodon has its server, discord its bot, x both kinds', () => {
    const { apps } = read({
      MASTODON_CLIENT_ID: 'm',
      MASTODON_CLIENT_SECRET: 's',
      MASTODON_URL: 'https://social.example/',
      DISCORD_CLIENT_ID: 'd',
      DISCORD_CLIENT_SECRET: 's',
      DISCORD_BOT_TOKEN_ID: 'b',
      X_API_KEY: 'k',
      X_API_SECRET: 's',
    }).config.social;
    expect(apps['mastodon']).toEqual({ clientId: 'm', clientSecret: 's', server: 'https://social.example' });
    expect(apps['discord']).toMatchObject({ botToken: 'b' });
    expect(apps['x']).toEqual({ clientId: '', clientSecret: '', consumerKey: 'k', consumerSecret: 's' });
  });

  test('an incomplete pair is a warning and gives no credentials', () => {
    expect(read({ SLACK_ID: 'x' })).toMatchObject({
      issues: [{ setting: 'SLACK_SECRET', level: 'warning' }],
      config: { social: { apps: {} } },
    });
    expect(read({ VK_ID: 'public' }).config.social.apps['vk']).toEqual({ clientId: 'public', clientSecret: '' });
  });

  test('stock-media keys are read from variables named after the source [DE43]', () => {
    expect(
      read({
        UNSPLASH_ACCESS_KEY: 'u',
        PEXELS_API_KEY: 'p',
        PIXABAY_API_KEY: 'x',
        GIPHY_API_KEY: 'g',
        OPENVERSE_CLIENT_ID: 'o',
        OPENVERSE_CLIENT_SECRET: 's',
      }).config.stockMedia,
    ).toEqual({
      unsplash: 'u',
      pexels: 'p',
      pixabay: 'x',
      giphy: 'g',
      openverse: { clientId: 'o', clientSecret: 's' },
    });
  });
});
