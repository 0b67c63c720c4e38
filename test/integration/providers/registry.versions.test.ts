import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/index.ts';
import { openMemoryCache } from '../../../src/platform/cache/index.ts';
import type { Channels } from '../../../src/publishing/channels/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openChanges } from '../../../src/providers/settings/index.ts';
import type { Lifecycle } from '../../../src/providers/kit/declare/adapter.ts';
import network from '../../../src/providers/social/sandbox.v1.ts';
import { noEngine, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let ann: SignedUp;

beforeAll(async () => {
  db = await testDatabase();
  sandbox = await startSandbox({ sql: db.sql });
  app = await testApp({ sql: db.sql });
  ann = await app.signUp();
}, 60_000);
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await db.sql`truncate channels cascade`;
});

/** The product as it is started with these versions of the sandbox and no other. */
async function startedWith(...versions: readonly [name: `v${number}`, status: Lifecycle][]) {
  const { optional: _, ...always } = network;
  const product = await openPublishing({
    url: db.url,
    connections: 2,
    engine: noEngine,
    env: { SANDBOX_ENABLED: 'false' },
    servers: { 'social/sandbox': sandbox.url },
    adapters: versions.map(([version, status]) => ({ ...always, version, status })),
  });
  const { channels } = product;
  return {
    channels,
    connect: (refresh?: string) =>
      channels.complete(person(), 'sandbox', { fields: { name: 'ann' }, ...(refresh !== undefined && { refresh }) }),
    [Symbol.asyncDispose]: () => product[Symbol.asyncDispose](),
  };
}
const person = () => ({ orgId: ann.orgId, userId: ann.userId, mayUpdate: true });
const versionOf = async (channels: Channels, id: string) => (await channels.find(ann.orgId, [id]))[0]!.providerVersion;
const refusal = async (work: Promise<unknown>) => {
  const { status, code } = await failureOf(work);
  return `${status} ${code}`;
};

describe('a connected channel', () => {
  test('keeps the version that it was connected with, through a new login too, until it is connected anew [VE17, VE18, VE19]', async () => {
    await using before = await startedWith(['v1', 'active']);
    const { id } = await before.connect();
    expect(await versionOf(before.channels, id)).toBe('v1');
    await using after = await startedWith(['v1', 'active'], ['v2', 'active']); // which makes the first one deprecated
    expect((await after.connect(id)).id).toBe(id);
    expect(await versionOf(after.channels, id)).toBe('v1');
    await expect((await after.channels.connect(ann.orgId, id)).social.profile()).resolves.toMatchObject({
      name: 'ann',
    });
    expect(await after.connect()).toMatchObject({ id, created: false });
    expect(await versionOf(after.channels, id)).toBe('v2');
  });

  test('is listed when its version is retired, answers 410 when it is used, and a new login brings it to one that works [VE9, VE10, VE18, S161]', async () => {
    await using before = await startedWith(['v1', 'active']);
    const { id } = await before.connect();
    await using after = await startedWith(['v1', 'retired'], ['v2', 'active']);
    const { channels } = after;
    expect((await channels.list(ann.orgId)).map((channel) => channel.id)).toEqual([id]);
    expect(await refusal(channels.rulesOf(ann.orgId, id))).toBe('410 version_retired');
    expect(await failureOf(channels.connect(ann.orgId, id))).toMatchObject({
      failure: 'unsupported',
      message: expect.stringContaining('retired'),
    });
    expect((await after.connect(id)).id).toBe(id);
    expect(await versionOf(channels, id)).toBe('v2');
    await using retired = await startedWith(['v1', 'retired']);
    expect(await refusal(retired.connect())).toBe('400 unknown_version');
  });

  test('is of a preview only when that is asked for [VE6]', async () => {
    await using preview = await startedWith(['v1', 'preview']);
    expect(await refusal(preview.connect())).toBe('400 preview_not_allowed');
    const { id } = await preview.channels.complete(person(), 'sandbox', {
      fields: { name: 'ann' },
      allowPreview: true,
    });
    expect((await preview.connect(id)).id).toBe(id); // it was allowed once
  });
});

test('whatever is kept of a provider has its exact version, which is never null once the provider is known [VE17]', async () => {
  const columns = await db.sql<{ table: string; name: string; nullable: boolean; checked: boolean }[]>`
    select c.table_name as table, c.column_name as name, c.is_nullable = 'YES' as nullable, exists (
      select
      from pg_constraint k
      where k.conrelid = c.table_name::regclass
        and pg_get_constraintdef(k.oid) like '%' || c.column_name || ' IS NOT NULL%') as checked
    from information_schema.columns c
    where c.table_schema = 'public' and c.column_name ~ '^(provider|storage)_(id|version)$'`;
  const named = (pattern: RegExp) => columns.filter(({ name }) => pattern.test(name));
  expect(named(/_version$/).filter(({ nullable, checked }) => nullable && !checked)).toEqual([]);
  const pinned = new Set(named(/_version$/).map(({ table }) => table));
  /**
   * Not of a version: an account at a login provider, a login that lasts ten minutes, a place in a list, what is to be
   * removed by a setting, which has one, money, whose caps are of a provider, a call that is over, and an account that is watched: it is read
   * by the newest version, and nothing is stored in its form.
   */
  const free = [
    'ai_ledger',
    'ai_reservations',
    'ai_spend',
    'ai_traces',
    'competitors',
    'featured_providers',
    'login_states',
    'media_pending_deletions',
    'users',
  ];
  expect(named(/_id$/).flatMap(({ table }) => (pinned.has(table) || free.includes(table) ? [] : table))).toEqual([]);
});

test('a change of settings in one process drops what the others have open with them [VE21, VE22]', async () => {
  await using cache = openMemoryCache(systemClock); // the bus between processes; Redis is held to the same contract
  const values = { clientId: 'c', clientSecret: 'old', server: 'https://github.com', api: 'https://api.github.com' };
  await using one = localProviders();
  await using other = localProviders();
  const adapter = one.resolve('auth', 'github');
  await using changes = await openChanges({ cache, providers: one });
  await using _ = await openChanges({ cache, providers: other });
  /** What was told before is heard: messages come in their order. */
  const heard = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using _done = await cache.subscribe('done', () => resolve());
    await cache.publish('done', '');
    await promise;
  };
  const before = [one.login(adapter, values), other.login(adapter, values)];
  expect([one.login(adapter, values), other.login(adapter, values)]).toEqual(before);
  expect(one.login(adapter, values)).toBe(before[0]);
  expect(one.login(adapter, { ...values, clientSecret: 'new' })).not.toBe(before[0]);

  changes.tell(null, { domain: 'auth', id: 'google' });
  changes.tell(ann.orgId, { domain: 'auth', id: 'github' });
  await heard();
  expect([one.login(adapter, values) === before[0], other.login(adapter, values) === before[1]]).toEqual([true, true]);

  changes.tell(null, { domain: 'auth', id: 'github' });
  await heard();
  expect([one.login(adapter, values) === before[0], other.login(adapter, values) === before[1]]).toEqual([
    false,
    false,
  ]);
});
