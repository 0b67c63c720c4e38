import { afterAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError } from '../kernel/index.ts';
import { describeIssues, settingsReference } from './reference.ts';
import { type Environment } from './env.ts';
import { readConfig } from './config.ts';
import { CHAPTERS, SETTINGS } from './settings.ts';

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
/** Production on this machine alone. */
const tryOut = {
  ...production,
  NOT_SECURED: 'true',
  FRONTEND_URL: 'http://localhost:4200',
  NEXT_PUBLIC_BACKEND_URL: 'http://127.0.0.1:3000',
};
const without = (environment: Record<string, string>, ...names: string[]): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)));
const read = (more: Environment = {}) => readConfig({ ...development, ...more });
const found = (environment: Environment, level?: 'fatal' | 'warning') =>
  readConfig(environment)
    .issues.filter((issue) => level === undefined || issue.level === level)
    .map(({ setting }) => setting);

describe('a start without any setting', () => {
  test('the configuration has no issue, listens on this machine only, and waits 30 s for others, 10 s for a receiver [OB10, WH34]', () => {
    const { config, issues, exits } = readConfig({ DATA_FOLDER: folder });
    expect([issues, exits]).toEqual([[], false]);
    expect(config).toMatchObject({
      production: false,
      notSecured: false,
      http: {
        host: '127.0.0.1',
        port: 3000,
        frontendUrl: 'http://127.0.0.1:3000',
        backendUrl: 'http://127.0.0.1:3000',
        trustProxyHops: 0,
        apiLimit: 600,
        rateLimitScale: 1,
      },
      database: { url: undefined, dataFolder: folder },
      redis: { url: undefined },
      actors: { engine: 'embedded', reminderHorizonHours: 48 },
      outbound: { timeoutMs: 30_000, webhookTimeoutMs: 10_000, allowedPrivateCidrs: ['127.0.0.1/32'] },
      uploads: { folder: join(folder, 'uploads'), maxBytes: 1_073_741_824 },
      social: { sandboxEnabled: true, apps: {} },
    });
  });

  test('a generated secret is kept for the next start, readable for its owner alone', () => {
    const first = readConfig({ DATA_FOLDER: folder }).config.secrets;
    const second = readConfig({ DATA_FOLDER: folder }).config.secrets;
    expect(first.jwt).toMatch(/^[0-9a-f]{64}$/);
    expect(second).toEqual(first);
    expect(readdirSync(folder)).toEqual(['jwt-secret']);
    expect(statSync(join(folder, 'jwt-secret')).mode & 0o777).toBe(0o600);

    const made = join(folder, 'new');
    readConfig({ DATA_FOLDER: made });
    expect(statSync(made).mode & 0o066).toBe(0);
    rmSync(made, { recursive: true });
  });

  test.each(['a file', 'below a file'])(
    'a data folder that is %s is reported in one sentence that names the setting',
    (where) => {
      const file = join(folder, 'no-folder');
      writeFileSync(file, '');
      const named = where === 'a file' ? file : join(file, 'data');
      let refused: unknown;
      try {
        readConfig({ DATA_FOLDER: named });
      } catch (error) {
        refused = error;
      }
      rmSync(file);
      expect(refused).toBeInstanceOf(StartError);
      expect((refused as StartError).message).toBe(
        `No secret can be kept in ${named}. Set JWT_SECRET, or let DATA_FOLDER name a folder that can be written.`,
      );
    },
  );

  test('an empty variable counts as unset', () => {
    expect(read({ PORT: '', DATABASE_URL: '  ', API_LIMIT: '' }).config).toMatchObject({
      http: { port: 3000, apiLimit: 600 },
      database: { url: undefined },
    });
  });
});

describe('configuration in production', () => {
  test('a complete configuration has no issue', () => {
    expect(readConfig(production)).toMatchObject({
      issues: [],
      exits: false,
      config: {
        production: true,
        http: { host: undefined },
        outbound: { allowedPrivateCidrs: [] },
        social: { sandboxEnabled: false },
      },
    });
  });

  test.each([
    'DATABASE_URL',
    'REDIS_URL',
    'JWT_SECRET',
    'NEXT_PUBLIC_BACKEND_URL',
    'BACKEND_INTERNAL_URL',
    'FRONTEND_URL',
  ])('the start is refused without %s [BO7, BO9, BO10, DE1, DE2, DE3, DE4]', (name) => {
    const { issues, exits } = readConfig(without(production, name));
    expect(exits).toBe(true);
    expect(issues.filter(({ level }) => level === 'fatal').map(({ setting }) => setting)).toEqual([name]);
    for (const { remedy } of issues) expect(remedy.length).toBeGreaterThan(20);
  });

  test('docs/operations.md lists exactly the settings that production requires', () => {
    const missing = (more: Environment) =>
      readConfig({ NODE_ENV: 'production', ...more })
        .issues.filter(({ level }) => level === 'fatal')
        .map(({ setting }) => setting);
    const always = missing({});
    const dapr = missing({ DAPR_HTTP_PORT: '1', DAPR_GRPC_PORT: '2' }).filter((name) => !always.includes(name));
    const [, list = ''] = /Required in production:\n\n((?:- .*\n)+)/.exec(readFileSync('docs/operations.md', 'utf8'))!;
    const names = (line: string) =>
      [...line.replace(' or `MAIN_URL`', '').matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name!);
    const [first = '', withDapr = ''] = list.split('\n');
    expect(names(first).toSorted()).toEqual(always.toSorted());
    expect(names(withDapr)).toEqual(dapr);
  });
  test('MAIN_URL stands in for a missing FRONTEND_URL', () => {
    const { config, exits } = readConfig({
      ...without(production, 'FRONTEND_URL'),
      MAIN_URL: 'https://main.example.com/',
    });
    expect([exits, config.http.frontendUrl, config.http.mainUrl]).toEqual([
      false,
      'https://main.example.com',
      'https://main.example.com',
    ]);
  });

  test('a JWT_SECRET of 31 characters is refused and one of 32 accepted [BO8]', () => {
    expect(readConfig({ ...production, JWT_SECRET: JWT.slice(0, 31) }).exits).toBe(true);
    expect(readConfig({ ...production, JWT_SECRET: JWT.slice(0, 32) }).exits).toBe(false);
  });

  test('secrets that can be guessed are refused, however long they are', () => {
    for (const name of ['JWT_SECRET', 'ENCRYPTION_KEY', 'WEBHOOK_SIGNING_SECRET'])
      for (const guessable of [
        'x'.repeat(32),
        '1234567'.repeat(8),
        'change-me-to-a-long-random-string!',
        '0123456789abcdefghijklmnopqrstuvwxyz',
      ])
        expect(readConfig({ ...production, [name]: guessable })).toMatchObject({
          exits: true,
          issues: [{ setting: name, level: 'fatal' }],
        });
    expect(found({ ...production, ENCRYPTION_KEY: 'short' }, 'fatal')).toEqual(['ENCRYPTION_KEY']);
    expect(found(without(production, 'ENCRYPTION_KEY'))).toEqual(['ENCRYPTION_KEY']);
    expect(readConfig(without(production, 'ENCRYPTION_KEY')).exits).toBe(false);
    expect(found({ ...production, ENCRYPTION_KEY: createHash('sha256').update('x').digest('base64') })).toEqual([]);
    expect(found({ ...production, ENCRYPTION_KEY: JWT, ENCRYPTION_KEY_PREVIOUS: JWT })).toEqual([
      'ENCRYPTION_KEY_PREVIOUS',
    ]);
  });

  test('the keys of the job runner are required, unless its dev mode is set [BO11]', () => {
    expect(found({ ...production, USE_INNGEST: 'true' }, 'fatal')).toEqual([
      'INNGEST_EVENT_KEY',
      'INNGEST_SIGNING_KEY',
    ]);
    expect(found({ ...production, USE_INNGEST: 'true', INNGEST_EVENT_KEY: 'e' }, 'fatal')).toEqual([
      'INNGEST_SIGNING_KEY',
    ]);
    expect(found({ ...production, USE_INNGEST: 'true', INNGEST_DEV: '1' })).toEqual([]);
    expect(found({ ...production, USE_INNGEST: 'true', INNGEST_EVENT_KEY: 'e', INNGEST_SIGNING_KEY: 's' })).toEqual([]);
    expect(found({ ...production })).toEqual([]);
  });

  test('a fatal issue with NOT_SECURED on this machine is reported and does not end the process, unless nothing can run [DE28, S226]', () => {
    const told = readConfig({ ...tryOut, JWT_SECRET: 'short' });
    expect(told.config.http.host).toBe('127.0.0.1');
    expect(told.exits).toBe(false);
    expect(told.issues.map(({ setting, level }) => [setting, level])).toEqual([
      ['JWT_SECRET', 'fatal'],
      ['NOT_SECURED', 'warning'],
    ]);
    expect(readConfig(without(tryOut, 'DATABASE_URL')).exits).toBe(true);
  });

  test.each([
    ['FRONTEND_URL', 'https://app.example.com'],
    ['MAIN_URL', 'http://127.0.0.1.example.com'],
    ['ADMIN_URL', 'http://10.0.0.1'],
    ['NEXT_PUBLIC_BACKEND_URL', 'http://localhost.example.com/api'],
    ['BACKEND_LISTEN_HOST', '0.0.0.0'],
  ])('NOT_SECURED with %s=%s is refused: only this machine may reach the service', (name, value) => {
    expect(readConfig({ ...tryOut, [name]: value })).toMatchObject({
      exits: true,
      issues: [{ setting: 'NOT_SECURED', level: 'fatal' }, { level: 'warning' }],
    });
  });

  test('WEBHOOK_SIGNING_SECRET signs webhooks, else a key of its own, and never the session key', () => {
    const { jwt, webhookSigning, encryptionKey } = readConfig(production).config.secrets;
    expect(webhookSigning).toMatch(/^[0-9a-f]{64}$/);
    expect([jwt, encryptionKey.toString('hex'), createHash('sha256').update(jwt).digest('hex')]).not.toContain(
      webhookSigning,
    );
    expect(readConfig(production).config.secrets.webhookSigning).toBe(webhookSigning);
    expect(readConfig({ ...production, WEBHOOK_SIGNING_SECRET: KEY }).config.secrets.webhookSigning).toBe(KEY);
    expect(readConfig({ ...production, WEBHOOK_SIGNING_SECRET: JWT })).toMatchObject({
      exits: true,
      issues: [{ setting: 'WEBHOOK_SIGNING_SECRET' }],
    });
  });

  test('JWT_SECRET signs webhooks outside production where no other key is set [WH28]', () =>
    expect(read().config.secrets.webhookSigning).toBe(JWT));

  test('all issues are named at once, the fatal ones first, each with its remedy and without secrets', () => {
    const { issues, exits } = readConfig({
      NODE_ENV: 'production',
      DATA_FOLDER: folder,
      JWT_SECRET: 'hunter2',
      PORT: 'http',
      DATABASE_URL: 'mysql://root:hunter3@db/x',
    });
    const text = describeIssues(issues, exits);
    for (const name of [
      'DATABASE_URL',
      'REDIS_URL',
      'JWT_SECRET',
      'FRONTEND_URL',
      'NEXT_PUBLIC_BACKEND_URL',
      'BACKEND_INTERNAL_URL',
      'PORT',
      'IS_GENERAL',
    ])
      expect(text).toContain(name);
    expect(text).not.toMatch(/hunter/);
    expect(text.indexOf('warning')).toBeGreaterThan(text.lastIndexOf('ERROR'));
    expect(text).toContain('does not start');
  });

  test('UPLOAD_FOLDER_SHARED must be set with Dapr in production', () => {
    const dapr = {
      ...production,
      ACTOR_ENGINE: 'dapr',
      DAPR_HTTP_PORT: '3500',
      DAPR_GRPC_PORT: '50001',
      APP_API_TOKEN: KEY,
      DAPR_API_TOKEN: KEY,
    };
    const said = (env: Record<string, string>) =>
      readConfig(env).issues.filter(({ setting }) => setting === 'UPLOAD_FOLDER_SHARED');
    expect(said(dapr)).toMatchObject([
      {
        level: 'fatal',
        message: expect.stringContaining('is missing'),
        remedy: expect.stringContaining('/admin/providers/settings'),
      },
    ]);
    expect(readConfig(dapr).exits).toBe(true);
    for (const value of ['true', 'false'])
      expect([
        said({ ...dapr, UPLOAD_FOLDER_SHARED: value }),
        readConfig({ ...dapr, UPLOAD_FOLDER_SHARED: value }).config.uploads.isShared,
      ]).toEqual([[], value === 'true']);
    expect([said(production), said({ ...dapr, NODE_ENV: 'development' })]).toEqual([[], []]);
  });

  test('the environment of an ending process holds no secret', () => {
    const empty = mkdtempSync(join(tmpdir(), 'rookery-config-'));
    readConfig({ NODE_ENV: 'production', DATA_FOLDER: empty });
    expect(readdirSync(empty)).toEqual([]);
    rmSync(empty, { recursive: true });
  });
});

describe('misspelled setting names', () => {
  test.each([
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['JWT_SECRETS', 'JWT_SECRET'],
    ['REDIS-URL', 'REDIS_URL'],
  ])('%s is a warning that names %s', (given, meant) => {
    const { issues, exits } = readConfig({ ...without(development, meant), [given]: 'hunter2hunter2' });
    expect(exits).toBe(false);
    expect(issues).toEqual([
      {
        setting: given,
        level: 'warning',
        message: `is not a setting, ${meant} is`,
        remedy: `Rename it to ${meant}, or remove it.`,
      },
    ]);
    expect(describeIssues(issues, exits)).not.toContain('hunter2');
  });

  test('known, distant, short and empty names are no misspellings', () => {
    const others = {
      POST: '1',
      SORT: '1',
      PATH: '/bin',
      JWT_SECRETS: 'x',
      DATABSE_URL: '',
      npm_config_cache: 'x',
      PGDATABASE: 'x',
    };
    expect(found({ ...development, ...others })).toEqual([]);
  });
});

describe('CONFIG_CHECK_STRICT', () => {
  test('a fatal issue outside production is reported and the start goes on [DE28]', () => {
    expect(read({ PORT: 'abc' })).toMatchObject({
      exits: false,
      issues: [{ setting: 'PORT', level: 'fatal' }],
      config: { http: { port: 3000 } },
    });
  });

  test('CONFIG_CHECK_STRICT ends the process in every environment, and requires the settings of production [DE27]', () => {
    expect(read({ PORT: 'abc', CONFIG_CHECK_STRICT: 'true' }).exits).toBe(true);
    expect(found({ DATA_FOLDER: folder, CONFIG_CHECK_STRICT: 'true' }, 'fatal')).toEqual([
      'DATABASE_URL',
      'REDIS_URL',
      'JWT_SECRET',
      'NEXT_PUBLIC_BACKEND_URL',
      'BACKEND_INTERNAL_URL',
      'FRONTEND_URL',
    ]);
    expect(
      readConfig({ ...without(production, 'NODE_ENV'), CONFIG_CHECK_STRICT: 'true', NOT_SECURED: 'true' }).exits,
    ).toBe(false);
    expect(
      readConfig({ ...without(production, 'NODE_ENV', 'JWT_SECRET'), CONFIG_CHECK_STRICT: 'true', NOT_SECURED: 'true' })
        .exits,
    ).toBe(true);
  });

  test('IS_GENERAL that is not true is a warning [DE5, S227]', () => {
    expect(readConfig({ ...production, IS_GENERAL: 'false' })).toMatchObject({
      exits: false,
      issues: [{ setting: 'IS_GENERAL', level: 'warning' }],
    });
    expect(found(without(production, 'IS_GENERAL'), 'warning')).toEqual(['IS_GENERAL']);
    expect(found({ ...development, IS_GENERAL: 'false' })).toEqual(['IS_GENERAL']);
  });

  test('an invalid TRUST_PROXY_HOPS is a warning and counts as none', () => {
    expect(readConfig({ ...production, TRUST_PROXY_HOPS: '-1' })).toMatchObject({
      exits: false,
      issues: [{ setting: 'TRUST_PROXY_HOPS', level: 'warning' }],
      config: { http: { trustProxyHops: 0 } },
    });
    expect(read({ TRUST_PROXY_HOPS: '2' }).config.http.trustProxyHops).toBe(2);
  });
});

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

describe('settings of features that are not built', () => {
  test('an unknown mail provider is a warning, mail is off and users activate at once [DE9]', () => {
    expect(readConfig({ ...production, EMAIL_PROVIDER: 'pigeon' })).toMatchObject({
      exits: false,
      issues: [{ setting: 'EMAIL_PROVIDER', level: 'warning' }],
      config: { email: { provider: undefined } },
    });
  });

  test('an address for traces is a warning', () => {
    expect(found({ ...production, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' })).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ]);
  });
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
    ['ACTOR_ENGINE', 'orleans'],
    ['SSRF_ALLOWED_PRIVATE_CIDRS', '10.0.0.0/8,10.0.0.0'],
    ['SSRF_ALLOWED_PRIVATE_CIDRS', '10.0.0.0/33'],
    ['OPERATOR_ALLOWED_PRIVATE_CIDRS', '10.0.0.0/33'],
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
      posts: { stripLinksFromX: false },
      analytics: { xDisabled: false },
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
      posts: { stripLinksFromX: true },
      analytics: { xDisabled: true },
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

  test('COLLAB_SINGLE_INSTANCE false warns without COLLAB_REDIS_ADAPTER, and not with it', () => {
    expect(found({ ...production, COLLAB_SINGLE_INSTANCE: 'false' }, 'warning')).toEqual(['COLLAB_SINGLE_INSTANCE']);
    expect(found({ ...production, COLLAB_SINGLE_INSTANCE: 'false', COLLAB_REDIS_ADAPTER: 'true' })).toEqual([]);
  });

  test('retention and add-on packs have the defaults of the interface', () => {
    const { retention, addons, analytics } = read().config;
    expect(retention).toEqual({
      analyticsDaily: 548,
      analyticsPost: 90,
      emailLog: 90,
      errors: 90,
      notifications: 180,
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
      xMaxPageDepth: 10,
      xDisabled: false,
    });
  });
});

describe('ACTOR_ENGINE', () => {
  const sidecar = { DAPR_HTTP_PORT: '3500', DAPR_GRPC_PORT: '50001' };
  const shared = { DATABASE_URL: 'postgres://u@db/r', REDIS_URL: 'redis://cache' };

  test('the engine is Dapr when a sidecar sets both its ports, unless ACTOR_ENGINE says otherwise', () => {
    expect(read({ ...sidecar, ...shared })).toMatchObject({
      issues: [],
      config: { actors: { engine: 'dapr', dapr: { httpPort: 3500, grpcPort: 50_001 } } },
    });
    expect(read({ ...sidecar, ACTOR_ENGINE: 'embedded' }).config.actors.engine).toBe('embedded');
    expect(read({ DAPR_HTTP_PORT: '3500' })).toMatchObject({
      exits: false,
      issues: [{ level: 'warning' }],
      config: { actors: { engine: 'embedded' } },
    });
  });

  test.each(['APP_API_TOKEN', 'DAPR_API_TOKEN', 'UPLOAD_FOLDER_SHARED'])('%s is required in production', (name) => {
    const all = { APP_API_TOKEN: KEY, DAPR_API_TOKEN: KEY, UPLOAD_FOLDER_SHARED: 'true' };
    expect(readConfig({ ...production, ...sidecar, ...without(all, name) })).toMatchObject({
      exits: true,
      issues: [{ setting: name, level: 'fatal' }],
    });
    expect(readConfig({ ...production, ...sidecar, ...all }).exits).toBe(false);
  });

  test('Dapr is refused without a sidecar or without a database that all processes reach', () => {
    expect(read({ ACTOR_ENGINE: 'dapr', ...shared })).toMatchObject({
      exits: true,
      issues: [{ setting: 'ACTOR_ENGINE' }],
    });
    expect(read({ ...sidecar, REDIS_URL: 'redis://cache' })).toMatchObject({
      exits: true,
      issues: [{ setting: 'DATABASE_URL' }],
    });
  });
});

describe('secret settings', () => {
  const key = (more: Environment) => read(more).config.secrets.encryptionKey;
  const bytes = Buffer.alloc(32, 7);

  test('ENCRYPTION_KEY as base64 or hexadecimal text of 32 bytes is the key; other values are hashed [SC4, SC5, SC6]', () => {
    expect(key({ ENCRYPTION_KEY: bytes.toString('base64') })).toEqual(bytes);
    expect(key({ ENCRYPTION_KEY: bytes.toString('hex') })).toEqual(bytes);
    expect(key({ ENCRYPTION_KEY: 'correct horse' })).toEqual(createHash('sha256').update('correct horse').digest());
  });

  test('without ENCRYPTION_KEY the key is SHA-256 of JWT_SECRET, also where that looks like a key [SC7]', () => {
    expect(key({})).toEqual(createHash('sha256').update(JWT).digest());
    expect(key({ JWT_SECRET: bytes.toString('hex') })).toEqual(
      createHash('sha256').update(bytes.toString('hex')).digest(),
    );
  });

  test('ENCRYPTION_KEY_PREVIOUS is the former key in each of its forms, including a JWT_SECRET used as key', () => {
    const hex = bytes.toString('hex');
    expect(read({ ENCRYPTION_KEY_PREVIOUS: hex }).config.secrets.formerKeys).toEqual([
      bytes,
      createHash('sha256').update(hex).digest(),
    ]);
    expect(read().config.secrets.formerKeys).toEqual([]);
  });

  test('deliveries are signed with WEBHOOK_SIGNING_SECRET, else with JWT_SECRET', () => {
    expect(read().config.secrets.webhookSigning).toBe(JWT);
    expect(read({ WEBHOOK_SIGNING_SECRET: 'w' }).config.secrets.webhookSigning).toBe('w');
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
    expect(apps['x']).toEqual({ clientId: '', clientSecret: '', consumer: { key: 'k', secret: 's' } });
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

test('the reference names every setting, and the committed file is current', () => {
  const reference = settingsReference();
  for (const name of Object.keys(SETTINGS)) expect(reference).toContain(`| \`${name}\` |`);
  expect(readFileSync(new URL('../../../docs/settings.gen.md', import.meta.url), 'utf8')).toBe(reference);
});
