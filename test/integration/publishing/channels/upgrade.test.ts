import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { newId, ProviderError } from '../../../../src/platform/kernel/index.ts';
import { text } from '../../../../src/providers/kit/declare/fields.ts';
import type { Lifecycle } from '../../../../src/providers/kit/declare/adapter.ts';
import { social } from '../../../../src/providers/social/_contract.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let eve: SignedUp;
let id: string;
/** Called by the version that asks who is connected. */
let profile: (version: string, token: string | undefined) => Promise<string>;
let refreshed: string[];

const versionOf = (version: `v${number}`, status: Lifecycle) =>
  social({
    id: 'versioned',
    version,
    status,
    title: 'Versioned',
    description: 'A network with several versions.',
    authType: 'none',
    credentials: { name: text('Name'), ...(version !== 'v1' && { more: text('More', { default: 'given' }) }) },
    api: 'https://versioned.example',
    login: {
      kind: 'credentials',
      signIn: async () => ({ accessToken: 'signed' }),
      async refresh({ tokens }) {
        refreshed.push(version);
        return { ...tokens, accessToken: 'fresh', expiresAt: new Date(Date.now() + 3_600_000) };
      },
    },
    once: 'at-most-once',
    threads: 'none',
    limits: { text: 100, unit: 'characters', media: 0, mediaTypes: [] },
    settings: z.looseObject(version === 'v1' ? {} : { visibility: z.enum(['all', 'friends']).optional() }),
    async profile({ token }) {
      const account = await profile(version, token);
      return { id: account, name: account, handle: account };
    },
    publish: () => Promise.reject(new Error('nothing is published here')),
  });

beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    adapters: [
      versionOf('v1', 'active'), // deprecated by the newer one
      versionOf('v2', 'active'),
      versionOf('v3', 'preview'),
      versionOf('v4', 'retired'),
    ],
  });
  [ann, eve] = [await app.signUp(), await app.signUp()];
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  profile = async () => 'me';
  refreshed = [];
  id = newId();
  await seed();
});
afterEach(() => db.sql`truncate channels cascade`);

async function seed(expiresAt?: Date) {
  const tokens = { accessToken: 'token', ...(expiresAt && { expiresAt }) };
  const grantedAt = new Date(Date.now() - 3_600_000);
  const sealed = sealCredentials(app.context.vault, { account: 'me', values: { name: 'n' }, tokens, grantedAt });
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${ann.orgId}, 'versioned', 'v1', 'me', 'Me', ${sealed})
    on conflict (id) do update
    set credentials = excluded.credentials`;
}
const upgrade = (body: object, { client }: SignedUp = ann) => client.post(`/integrations/${id}/upgrade`, body);
const stored = async () => {
  const [row] = await db.sql`select provider_version as version, credentials from channels where id = ${id}`;
  const { values, tokens } = JSON.parse(app.context.vault.open(row!['credentials'] as string));
  return { version: row!['version'], values, token: tokens.accessToken };
};

describe('the version of a channel', () => {
  test('is told with the newest one, and changed by asking for it only [S140, VE18]', async () => {
    const before = await ann.client.get(`/integrations/${id}/upgrade`);
    expect(before.body).toEqual({ version: 'v1', status: 'deprecated', upgradeAvailable: 'v2' });
    const moved = await upgrade({ version: 'v2' });
    expect([moved.status, moved.body]).toEqual([200, expect.objectContaining({ id, providerVersion: 'v2' })]);
    expect(await stored()).toEqual({ version: 'v2', values: { name: 'n', more: 'given' }, token: 'token' });
    expect((await ann.client.get(`/integrations/${id}/upgrade`)).body).toEqual({
      version: 'v2',
      status: 'active',
      upgradeAvailable: null,
    });
    expect(await db.sql`select action, detail from audit_log where resource_id = ${id}`).toEqual([
      { action: 'channel.upgraded', detail: { provider: 'versioned', from: 'v1', to: 'v2' } },
    ]);
  });

  test('is judged as that of a new row [S158, VE6, VE7, VE9, VE11]', async () => {
    for (const [body, status, code] of [
      [{ version: 'v3' }, 400, 'preview_not_allowed'],
      [{ version: 'v4' }, 410, 'version_retired'],
      [{ version: 'v9' }, 400, 'unknown_version'],
      [{ version: '' }, 400, 'validation_failed'],
      [{}, 400, 'validation_failed'],
      [{ version: 'v2', more: 1 }, 400, 'unknown_field'],
      [{ version: 'v1' }, 200, undefined],
      [{ version: 'v3', allowPreview: true }, 200, undefined],
      [{ version: 'v1' }, 400, 'version_deprecated'],
    ] as const) {
      const answer = await upgrade(body);
      expect([body, answer.status, answer.body.code]).toEqual([body, status, code]);
    }
    expect((await stored()).version).toBe('v3');
  });

  test('stays when the settings of the channel are wrong there, naming the field', async () => {
    await db.sql`update channels set settings = '{"visibility": "nobody"}' where id = ${id}`;
    const refused = await upgrade({ version: 'v2' });
    expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'additionalSettings.visibility']);
    expect((await stored()).version).toBe('v1');
  });

  test('stays when the login does not work there, or is another account', async () => {
    profile = () => Promise.reject(new ProviderError('reauthorize', 'Scopes are missing'));
    const refused = await upgrade({ version: 'v2' });
    expect([refused.status, refused.body.provider]).toEqual([400, 'versioned']);
    profile = () => Promise.reject(new ProviderError('unavailable', 'Away'));
    expect((await upgrade({ version: 'v2' })).status).toBe(502);
    profile = async () => 'another';
    expect((await upgrade({ version: 'v2' })).status).toBe(409);
    expect(await stored()).toMatchObject({ version: 'v1', token: 'token' });
    expect((await ann.client.get(`/integrations/${id}`)).body.refreshNeeded).toBe(false);
  });

  test('is changed with a token that the version before it has renewed', async () => {
    await seed(new Date(Date.now() - 1_000));
    const asked: unknown[] = [];
    profile = async (version, token) => {
      asked.push([version, token]);
      return 'me';
    };
    expect((await upgrade({ version: 'v2' })).status).toBe(200);
    expect([refreshed, asked]).toEqual([['v1'], [['v2', 'fresh']]]);
    expect(await stored()).toMatchObject({ version: 'v2', token: 'fresh' });
  });

  test('is not changed under a login that comes meanwhile, nor while one is needed', async () => {
    profile = async () => {
      await seed();
      return 'me';
    };
    expect((await upgrade({ version: 'v2' })).body.code).toBe('conflict');
    profile = async () => 'me';
    await app.context.channels.needsLogin(ann.orgId, id, 'revoked');
    const refused = await upgrade({ version: 'v2' });
    expect([refused.status, refused.body.message]).toEqual([409, 'The channel needs a new login first']);
    expect((await stored()).version).toBe('v1');
  });

  test('of another organization is 404 [S9]', async () => {
    expect((await eve.client.get(`/integrations/${id}/upgrade`)).status).toBe(404);
    expect((await upgrade({ version: 'v2' }, eve)).status).toBe(404);
  });
});
