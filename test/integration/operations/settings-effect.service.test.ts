import { describe, expect } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { encryptionKey, newId, openVault } from '../../../src/platform/kernel/index.ts';
import { JWT_SECRET } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { freePort } from '../../support/wire/ports.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { runRookery } from '../../support/processes/scripts/rookery-process.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { type Env, newcomer, settingsWorld } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: the service, its secrets and its numbers.

const world = settingsWorld();
const { at, open, whole } = world;
const effect = effectsOf('service');

describe('the service', () => {
  const header = async (env: Env, name: string, path = '/health/live', sent: Record<string, string> = {}) => {
    await using app = await open(env);
    return (await app.client().get(path, sent)).headers.get(name);
  };
  effect(['NODE_ENV', 'NOT_SECURED'], 'production turns the security headers on, NOT_SECURED off again', async () => {
    const hsts = (env: Env) => header(env, 'strict-transport-security');
    expect([await hsts({}), await hsts({ NODE_ENV: 'production', NOT_SECURED: 'true' })]).toEqual([null, null]);
    expect(await hsts({ NODE_ENV: 'production' })).toMatch(/max-age=\d{7,}/);
  });
  effect(['PREFIXED_COOKIES'], 'names of cookies begin with a prefix, and no other name opens a session', async () => {
    const sub = { FRONTEND_URL: 'https://app.example.com', NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com' };
    for (const [env, prefix, flags] of [
      [{}, '__Host-', /^; Max-Age=\d+; Path=\/; Secure; SameSite=Lax/],
      [sub, '__Secure-', /^; Max-Age=\d+; Path=\/; Domain=example\.com; Secure; SameSite=Lax/],
    ] as const) {
      await using app = await open({ PREFIXED_COOKIES: 'true', ...env });
      const client = app.client();
      const set = (await client.post('/auth/register', newcomer())).headers.getSetCookie();
      expect(set.map((cookie) => cookie.split('=')[0])).toEqual(
        ['auth', 'refresh', 'csrf_token'].map((name) => `${prefix}${name}`),
      );
      for (const cookie of set) expect(cookie.replace(/^[^;]*/, '')).toMatch(flags);
      const csrf = client.cookies.get(`${prefix}csrf_token`)!;
      expect((await client.post('/user/api-keys', { name: 'k' })).body.code).toBe('csrf_failed');
      expect((await client.post('/user/api-keys', { name: 'k' }, { 'x-csrf-token': csrf })).status).toBe(201);
      const bare = app.client();
      for (const [name, value] of client.cookies) bare.cookies.set(name.slice(prefix.length), value);
      expect((await bare.get('/user/self')).status).toBe(401);
    }
  });
  effect(
    ['CONFIG_CHECK_STRICT', 'IS_GENERAL'],
    'a fatal issue ends every process, and only then; standard self-hosting is asked for [DE27, DE28]',
    async () => {
      const lax = await runRookery(['emails', world.folder], { JWT_SECRET, PORT: 'none', IS_GENERAL: 'false' });
      expect([lax.code, lax.said]).toEqual([0, expect.stringMatching(/PORT[^]*IS_GENERAL|IS_GENERAL[^]*PORT/)]);
      const strict = await runRookery(['emails', world.folder], {
        JWT_SECRET,
        PORT: 'none',
        IS_GENERAL: 'true',
        CONFIG_CHECK_STRICT: 'true',
      });
      expect([strict.code, strict.said]).toEqual([1, expect.not.stringContaining('IS_GENERAL')]);
    },
  );
  effect(
    ['USE_INNGEST', 'INNGEST_EVENT_KEY', 'INNGEST_SIGNING_KEY', 'INNGEST_DEV'],
    'its keys are asked for in production, but for its dev mode [S228]',
    async () => {
      const asksFor = async (env: Env) => {
        const { said } = await runRookery(['migrate'], { JWT_SECRET, NODE_ENV: 'production', ...env });
        return ['INNGEST_EVENT_KEY', 'INNGEST_SIGNING_KEY'].filter((name) => said.includes(`${name} is missing`));
      };
      expect(await asksFor({})).toEqual([]);
      expect(await asksFor({ USE_INNGEST: 'true', INNGEST_EVENT_KEY: 'k' })).toEqual(['INNGEST_SIGNING_KEY']);
      expect(await asksFor({ USE_INNGEST: 'true', INNGEST_SIGNING_KEY: 'k' })).toEqual(['INNGEST_EVENT_KEY']);
      expect(await asksFor({ USE_INNGEST: 'true', INNGEST_DEV: 'true' })).toEqual([]);
    },
  );
  effect(
    ['FRONTEND_URL', 'MAIN_URL', 'ADMIN_URL'],
    'pages of these origins may call the routes of the console',
    async () => {
      const origins = ['https://front.example', 'https://main.example', 'https://admin.example'] as const;
      await using app = await open({ FRONTEND_URL: origins[0], MAIN_URL: origins[1], ADMIN_URL: origins[2] });
      for (const origin of origins)
        expect((await app.client().get('/user/self', { origin })).headers.get('access-control-allow-origin')).toBe(
          origin,
        );
      expect(
        (await world.base.client().get('/user/self', { origin: origins[0] })).headers.get(
          'access-control-allow-origin',
        ),
      ).not.toBe(origins[0]);
    },
  );
  effect(
    ['NEXT_PUBLIC_BACKEND_URL', 'NEXT_PUBLIC_OVERRIDE_BACKEND_URL'],
    'the OAuth server tells them of itself; files, pictures of people and calendars lie there',
    async () => {
      const told = async (env: Env) => {
        await using app = await open(env);
        const { issuer, token_endpoint: token } = (await app.client().get('/.well-known/oauth-authorization-server'))
          .body;
        return [issuer, new URL(token).origin];
      };
      expect(await told({ NEXT_PUBLIC_BACKEND_URL: 'https://api.example' })).toEqual([
        'https://api.example',
        'https://api.example',
      ]);
      const override = {
        NEXT_PUBLIC_BACKEND_URL: 'https://api.example',
        NEXT_PUBLIC_OVERRIDE_BACKEND_URL: 'https://token.example',
      };
      expect(await told(override)).toEqual(['https://api.example', 'https://token.example']);
      await using app = await open({ NEXT_PUBLIC_BACKEND_URL: 'https://api.example' });
      const file = (await at(app).post('/files/upload-simple', formOf(await picture(8, 8), { name: 'a.png' }))).body;
      const { avatarUrl } = (await at(app).post('/user/personal', { pictureId: file.id })).body;
      const channelId = newId();
      await world.db.sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${channelId}, ${world.ann.orgId}, 'sandbox', 'v1', ${channelId}, 'c', 'v2:')`;
      const { url: calendar } = (await at(app).post(`/integrations/${channelId}/calendar-token`, {})).body;
      expect([file.path, avatarUrl, calendar].map((url) => new URL(url).origin)).toEqual([
        'https://api.example',
        'https://api.example',
        'https://api.example',
      ]);
    },
  );
  effect(['BACKEND_INTERNAL_URL', 'DATABASE_URL'], 'the host tells its address in this database', async () => {
    await using own = await testDatabase();
    await using _product = await whole({ DATABASE_URL: own.url, BACKEND_INTERNAL_URL: 'http://inside.example:1' });
    expect(await own.sql`select address from actor_hosts`).toEqual([{ address: 'http://inside.example:1' }]);
  });
  effect(['BACKEND_LISTEN_HOST', 'PORT'], 'where it listens [DE35]', async () => {
    const port = await freePort();
    await using app = await open({ NODE_ENV: 'production', BACKEND_LISTEN_HOST: '127.0.0.1', PORT: String(port) });
    expect(app.address).toBe(`http://127.0.0.1:${port}`);
    expect((await app.client().get('/health/live')).status).toBe(200);
  });
  effect(['TRUST_PROXY_HOPS'], 'so many proxies are believed', async () => {
    const seen = async (env: Env) => {
      await using app = await open(env);
      const one = app.client();
      one.headers = { 'x-forwarded-for': '203.0.113.9' };
      await one.post('/auth/register', newcomer());
      return (await one.get('/user/sessions')).body[0].ip;
    };
    expect([await seen({}), await seen({ TRUST_PROXY_HOPS: '1' })]).toEqual(['127.0.0.1', '203.0.113.9']);
  });
  effect(
    ['API_LIMIT', 'RATE_LIMIT_SCALE'],
    'requests per hour of a route without a limit of its own: 600 unless told [RL1]',
    async () => {
      const limit = async (env: Env) => {
        await using app = await open(env);
        const before = Date.now();
        const { headers } = await at(app).get('/user/organizations');
        const [most, reset] = ['x-ratelimit-limit', 'x-ratelimit-reset'].map((name) => Number(headers.get(name)));
        expect(reset! * 1_000 - before).toBeGreaterThanOrEqual(3_600_000 - 1_000); // an hour from the first request on
        expect(reset! * 1_000 - Date.now()).toBeLessThanOrEqual(3_600_000 + 1_000);
        return most;
      };
      expect(await limit({ RATE_LIMIT_SCALE: '1' })).toBe(600);
      expect(await limit({ RATE_LIMIT_SCALE: '2', API_LIMIT: '7' })).toBe(14);
    },
  );
  effect(['APPS_CHALLENGE'], 'is answered', async () => {
    await using app = await open({ APPS_CHALLENGE: 'the-challenge' });
    expect((await app.client().get('/.well-known/apps-challenge')).text).toContain('the-challenge');
    expect((await world.base.client().get('/.well-known/apps-challenge')).status).toBe(404);
  });
  effect(['MOBILE_APP_SCHEME'], 'leads into the mobile application', async () => {
    expect(
      await header({ MOBILE_APP_SCHEME: 'acme://login' }, 'location', '/auth/oauth-mobile-callback?code=c'),
    ).toMatch(/^acme:\/\/login\?.*code=c/);
  });
  effect(
    ['DATA_FOLDER', 'UPLOAD_FOLDER', 'UPLOAD_FOLDER_SHARED', 'MEDIA_UPLOAD_MAX_BYTES', 'LOCAL_STORAGE_QUOTA_GB'],
    'where uploads lie, how large one is, and when they are too many',
    async () => {
      const bytes = await picture(64, 64);
      const uploaded = async (env: Env) => {
        await using app = await open(env);
        const { status, headers } = await at(app).post('/files/upload-simple', formOf(bytes, { name: 'a.png' }));
        return { status, warning: headers.get('x-storage-warning') };
      };
      const files = (name: string) =>
        existsSync(join(world.folder, name))
          ? readdirSync(join(world.folder, name), { recursive: true }).filter((file) => String(file).endsWith('.png'))
          : [];
      const usual = await uploaded({ DATA_FOLDER: join(world.folder, 'data') });
      expect([usual.status, files('data/uploads').length]).toEqual([201, 1]);
      const full = await uploaded({ UPLOAD_FOLDER: join(world.folder, 'up'), LOCAL_STORAGE_QUOTA_GB: '0.00000001' });
      expect([full.status, files('up').length]).toEqual([201, 1]);
      expect([usual.warning, full.warning]).toEqual([null, 'soft-quota']);
      expect((await uploaded({ MEDIA_UPLOAD_MAX_BYTES: '10' })).status).toBe(413);
      expect((await uploaded({ UPLOAD_FOLDER_SHARED: 'false' })).status).toBe(503); // nothing is kept in it
    },
  );
});

describe('secrets', () => {
  effect(['JWT_SECRET'], 'signs sessions', async () => {
    const secret = 'another secret that is long enough for it';
    await using app = await open({ JWT_SECRET: secret });
    const one = app.client();
    await one.post('/auth/register', newcomer());
    const [head, body, signature] = one.cookies.get('auth')!.split('.');
    expect(createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url')).toBe(signature);
    expect((await at(app).get('/user/self')).status).toBe(401);
  });
  effect(
    ['ENCRYPTION_KEY', 'ENCRYPTION_KEY_PREVIOUS'],
    'seals what is stored; the one before still opens it',
    async () => {
      const [first, second] = ['f'.repeat(64), 'a'.repeat(64)];
      await using app = await open({ ENCRYPTION_KEY: first });
      const made = await at(app).post('/providers/settings', {
        domain: 'shortlink',
        providerId: 'dub',
        credentials: { apiKey: 'dub_the-key', domain: 'go.example' },
      });
      expect(made.status).toBe(201);
      const [row] = await world.db.sql<
        { sealed: string }[]
      >`select credentials as sealed from provider_settings where id = ${made.body.id}`;
      expect(openVault(encryptionKey(first)).open(row!.sealed)).toContain('dub_the-key');
      const read = async (env: Env) => {
        await using later = await open(env);
        return (await at(later).put(`/providers/settings/${made.body.id}`, { options: { domain: 'go2.example' } }))
          .status;
      };
      expect(await read({ ENCRYPTION_KEY: second, ENCRYPTION_KEY_PREVIOUS: first })).toBe(200);
      expect(await read({ ENCRYPTION_KEY: 'b'.repeat(64) })).not.toBe(200);
      await world.db.sql`delete from provider_settings`;
    },
  );
  effect(['WEBHOOK_SIGNING_SECRET'], 'signs deliveries, those of the generic send too [WH9, WH25]', async () => {
    await using receiver = await startReceiver();
    await using app = await open({ WEBHOOK_SIGNING_SECRET: 'the signing secret' });
    expect((await at(app).post('/webhooks/send', { url: receiver.url, message: 'Hi' })).body).toEqual({
      success: true,
      status: 200,
    });
    const [{ headers, body }] = receiver.ledger as [(typeof receiver.ledger)[0]];
    expect(headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', 'the signing secret').update(body).digest('hex')}`,
    );
  });
});

describe('telemetry', () => {
  effect(['METRICS_TOKEN'], 'opens the numbers for callers from elsewhere', async () => {
    await using app = await open({ METRICS_TOKEN: 'the-token-of-metrics' });
    const ask = async (headers: Record<string, string>) =>
      (await app.client().get('/metrics', { 'x-forwarded-for': '203.0.113.9', ...headers })).status;
    expect([await ask({}), await ask({ authorization: 'Bearer the-token-of-metrics' })]).toEqual([404, 200]);
  });
});
