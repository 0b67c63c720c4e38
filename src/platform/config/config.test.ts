// oxlint-disable max-lines -- a table of settings that do not go together
import { afterAll, describe, expect, test } from '@jest/globals';
import { createECDH, createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError } from '../kernel/index.ts';
import { adapters } from '../../providers/registry/registry.gen.ts';
import { describeIssues, settingsReference } from './reference.ts';
import { type Environment } from './env.ts';
import { readConfig } from './config.ts';
import { SETTINGS } from './settings.ts';

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

  test('actor calls are known by a key of their own, the same in each process and never the session key', () => {
    const { jwt, actorCalls, webhookSigning } = readConfig(production).config.secrets;
    expect(actorCalls).toMatch(/^[0-9a-f]{64}$/);
    expect([jwt, webhookSigning]).not.toContain(actorCalls);
    expect(readConfig(production).config.secrets.actorCalls).toBe(actorCalls);
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
      NEXT_PUBLIC_BACKEND_URL: 'https://root:hunter4@api.example.com',
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

describe('the settings of push', () => {
  const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const FCM = {
    FCM_PROJECT_ID: 'p',
    FCM_CLIENT_EMAIL: 'push@example.com',
    FCM_PRIVATE_KEY: rsa.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
  const ecdh = createECDH('prime256v1');
  const VAPID = {
    VAPID_PUBLIC_KEY: ecdh.generateKeys().toString('base64url'),
    VAPID_PRIVATE_KEY: Buffer.concat([Buffer.alloc(32), ecdh.getPrivateKey()])
      .subarray(-32)
      .toString('base64url'),
    VAPID_SUBJECT: 'mailto:push@example.com',
  };

  test.each([
    ['fcm', FCM],
    ['vapid', VAPID],
  ] as const)('of %s are used where all are set; each one that is missing is an issue [NO30]', (way, settings) => {
    expect([found({ ...development, ...settings }), read(settings).config.push[way] !== undefined]).toEqual([[], true]);
    for (const missing of Object.keys(settings)) {
      const half = without({ ...development, ...settings }, missing);
      expect([found(half), readConfig(half).config.push[way]]).toEqual([[missing], undefined]);
    }
  });
});

describe('settings of features that are not built', () => {
  test('an unknown mail provider is a warning, mail is off and users activate at once [DE9]', () => {
    expect(readConfig({ ...production, EMAIL_PROVIDER: 'pigeon' })).toMatchObject({
      exits: false,
      issues: [{ setting: 'EMAIL_PROVIDER', level: 'warning' }],
      config: { email: { provider: undefined } },
    });
  });
});

test('an address for traces is no warning [DE31]', () => {
  expect(found({ ...production, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' })).toEqual([]);
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

  test('DAPR_EVENTS_PUBSUB is refused where there is no Dapr to publish on', () => {
    expect(read({ DAPR_EVENTS_PUBSUB: 'events' })).toMatchObject({
      exits: true,
      issues: [{ setting: 'DAPR_EVENTS_PUBSUB', level: 'fatal' }],
    });
    expect(read({ ...sidecar, ...shared, DAPR_EVENTS_PUBSUB: 'events' })).toMatchObject({
      issues: [],
      config: { actors: { dapr: { eventsPubsub: 'events' } } },
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

test('the reference says which app credentials nothing uses yet, and that LINE has no provider [S235]', () => {
  const [none, some] = [settingsReference(new Set()), settingsReference(new Set(['slack']))];
  const row = (text: string, name: string) => text.split('\n').find((line) => line.startsWith(`| \`${name}\``));
  expect(row(none, 'SLACK_ID')).toContain('used by later work: the provider slack');
  expect(row(some, 'SLACK_ID')).toBe('| `SLACK_ID` | text | unset | Client id of the app at Slack. |');
  expect(row(some, 'LINE_CLIENT_ID')).toContain('used by nothing: there is no such provider');
});

test('the reference names every setting, and the committed file is current', () => {
  const reference = settingsReference(new Set(adapters.flatMap(({ domain, id }) => (domain === 'social' ? [id] : []))));
  for (const name of Object.keys(SETTINGS)) expect(reference).toContain(`| \`${name}\` |`);
  expect(readFileSync(new URL('../../../docs/settings.gen.md', import.meta.url), 'utf8')).toBe(reference);
});
