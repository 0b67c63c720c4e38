import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Billing } from '../../../src/entitlements/index.ts';
import { type Database, openDatabase } from '../../../src/platform/db/index.ts';
import { AppError, newId } from '../../../src/platform/kernel/index.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  admit,
  newPost,
  openNetwork,
  openPublishing,
  type Publisher,
  seedOrg,
  startPublisher,
  startingWith,
} from '../../support/worlds/publishing/world.ts';

let db: TestDatabase;
let world: Publisher;
let billing: Billing;
beforeAll(async () => {
  db = await testDatabase();
  world = await startPublisher({ url: db.url, network: openNetwork(), env: WITH_BILLING });
  ({ billing } = world);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const enforce = (orgId: string) => db.sql.begin((tx) => billing.enforceLimits(tx, orgId));
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
/** Makes the channels of an org one minute apart, the first the oldest. */
const spread = (orgId: string, channelIds: readonly string[]) => db.sql`
  update channels c
  set created_at = now() - interval '1 day' + t.n * interval '1 minute'
  from unnest(${[...channelIds]}::uuid[])
  with ordinality t (id, n)
  where c.id = t.id and c.org_id = ${orgId}`;
async function seats(orgId: string, roles: readonly string[]): Promise<string[]> {
  const users = roles.map(() => newId());
  for (const [n, role] of roles.entries()) {
    await db.sql`
      insert into users (id, email, provider_name, provider_id)
      values (${users[n]!}, ${`${users[n]!}@example.com`}, 'local', ${users[n]!})`;
    await db.sql`
      insert into memberships (org_id, user_id, role_key, created_at)
      values (${orgId}, ${users[n]!}, ${role}, now() - interval '1 day' + ${n} * interval '1 minute')`;
  }
  return users;
}

test('a lower plan disables exactly the excess channels, newest first; their posts wait and nothing is deleted [S137]', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 6);
  await spread(orgId, channelIds);
  await subscribe(db.sql, orgId, { tier: 'PRO' });
  const posts = channelIds.map((channelId) => newPost(channelId, { publishDate: new Date(Date.now() + 3_600_000) }));
  await admit(world, orgId, posts);
  await db.sql`
    update channels set disabled = true where id = ${channelIds[0]!}`; // it does not count, and is none of the excess

  const shown = await billing.findOverLimit(db.sql, orgId, 'STARTER');
  expect(ids(shown.channels)).toEqual([channelIds[5], channelIds[4]]);
  expect(shown.channels[0]).toEqual({ id: channelIds[5], name: 'Channel' });
  expect((await db.sql`select from channels where org_id = ${orgId} and disabled`).count).toBe(1); // shown only

  await subscribe(db.sql, orgId, { tier: 'STARTER' });
  expect(await enforce(orgId)).toEqual(shown);
  const rows = await db.sql<
    { id: string; disabled: boolean; due: Date | null }[]
  >`select id, disabled, next_due_at as due from channels where org_id = ${orgId} order by created_at`;
  expect(rows.map(({ disabled }) => disabled)).toEqual([true, false, false, false, true, true]);
  expect(rows.slice(4).map(({ due }) => due)).toEqual([null, null]);
  const details = await db.sql<
    { detail: string }[]
  >`select detail from posts where org_id = ${orgId} and channel_id = any(${channelIds.slice(4)}::uuid[])`;
  expect(details.map(({ detail }) => detail)).toEqual(['paused', 'paused']);
  expect(
    await db.sql`select topic, payload from outbox where org_id = ${orgId} and entity_id = ${channelIds[5]!}`,
  ).toMatchObject([{ topic: 'channel.disabled', payload: { reason: 'plan' } }]);
  expect(await enforce(orgId)).toEqual({ channels: [], members: [] });
});

test('seats are disabled newest first; the oldest owner keeps one at any limit', async () => {
  const { orgId } = await seedOrg(db.sql);
  const [editor, first, second, viewer] = await seats(orgId, ['editor', 'owner', 'owner', 'viewer']);
  await override(db.sql, orgId, { team_members: 2 });
  expect(ids((await enforce(orgId)).members)).toEqual([viewer, second]);
  await override(db.sql, orgId, { team_members: 0 });
  expect(ids((await enforce(orgId)).members)).toEqual([editor]);
  const left = await db.sql<
    { id: string }[]
  >`select user_id as id from memberships where org_id = ${orgId} and not disabled`;
  expect(ids(left)).toEqual([first]);
});

test('an owner who is locked out keeps no seat from one who can act', async () => {
  const { orgId } = await seedOrg(db.sql);
  const [locked, editor, owner, later] = await seats(orgId, ['owner', 'editor', 'owner', 'owner']);
  await db.sql`update users set activated = id <> ${locked!} where id in (${locked!}, ${editor!}, ${owner!}, ${later!})`;
  await override(db.sql, orgId, { team_members: 1 });
  expect(ids((await enforce(orgId)).members)).toEqual([later, editor, locked]);
});

test('packs and overrides count: only what exceeds the effective limit is disabled [LM9, LM10]', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 9);
  await spread(orgId, channelIds);
  await subscribe(db.sql, orgId, { packs: { extra_channels: 1 } }); // 3 + 5
  expect(ids((await billing.findOverLimit(db.sql, orgId, 'STARTER')).channels)).toEqual([channelIds[8]]);
  // the packs go with the subscription
  expect((await billing.findOverLimit(db.sql, orgId, null)).channels).toHaveLength(6);
  await override(db.sql, orgId, { channel: 9 });
  expect(await enforce(orgId)).toEqual({ channels: [], members: [] });
});

test('a channel enabled while the limit falls is either disabled with the others or refused', async () => {
  for (let round = 0; round < 20; round++) {
    const { orgId, channelIds } = await seedOrg(db.sql, 4);
    await subscribe(db.sql, orgId, { tier: 'PRO' });
    await db.sql`update channels set disabled = true where id = ${channelIds[3]!}`;
    const enabled = (async () => {
      const { enable } = await import('../../../src/publishing/channels/transitions/disable.ts');
      return enable(db.sql, startingWith(billing), orgId, channelIds[3]!);
    })();
    const [outcome] = await Promise.allSettled([
      enabled,
      db.sql.begin(async (tx) => {
        await billing.lockOrg(tx, orgId);
        await tx`update subscriptions set tier = 'STARTER' where org_id = ${orgId}`;
        await billing.enforceLimits(tx, orgId);
      }),
    ]);
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'limit_exceeded' });
    expect((await billing.usage(orgId)).limits.channel.used).toBe(3);
  }
});

test('concurrent posts, channels, seats and a falling plan of one org never deadlock, and nothing exceeds its limit', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 10);
  await subscribe(db.sql, orgId, { tier: 'PRO' });
  const { disable, enable } = await import('../../../src/publishing/channels/transitions/disable.ts');
  const many: Database = openDatabase({ url: db.url, connections: 12 });
  const failures: unknown[] = [];
  const attempt = (work: Promise<unknown>) =>
    work.catch((error: unknown) => {
      if (!(error instanceof AppError && error.code === 'limit_exceeded')) failures.push(error);
    });
  try {
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const channelId = channelIds[n % 10]!;
        await Promise.all([
          attempt(
            admit(
              world,
              orgId,
              channelIds.map((id) => newPost(id, { state: 'DRAFT' })),
            ),
          ),
          attempt(disable(many, orgId, channelId).then(() => enable(many, startingWith(billing), orgId, channelId))),
          attempt(
            many.begin(async (tx) => {
              await billing.lockOrg(tx, orgId);
              await tx`update subscriptions set tier = ${n % 2 ? 'STARTER' : 'PRO'} where org_id = ${orgId}`;
              await billing.enforceLimits(tx, orgId);
            }),
          ),
        ]);
      }),
    );
  } finally {
    await many.end({ timeout: 2 });
  }
  expect(failures).toEqual([]);
  const { limits } = await billing.usage(orgId);
  expect(limits.channel.used).toBeLessThanOrEqual(limits.channel.effective);
  const [row] = await db.sql<{ n: number }[]>`select count(*)::int as n from posts where org_id = ${orgId}`;
  expect(limits.posts_per_month.used).toBe(row!.n);
});

test('overrides are set and cleared by name; an unknown name changes nothing', async () => {
  const { orgId } = await seedOrg(db.sql);
  const change = (overrides: Record<string, number | null>) =>
    db.sql.begin((tx) => billing.override(tx, orgId, overrides));
  expect(await change({ channel: 5, webhooks: 9 })).toEqual({ channel: 5, webhooks: 9 });
  expect(await change({ channel: null })).toEqual({ webhooks: 9 });
  await expect(change({ webhooks: 1, analytics_retention_days: 3 })).rejects.toMatchObject({
    code: 'validation_failed',
  });
  expect((await billing.usage(orgId)).limits).toMatchObject({
    channel: { override: null, effective: 3 },
    webhooks: { override: 9, effective: 9 },
  });
  await Promise.all(Array.from({ length: 10 }, (_, n) => change({ [n % 2 ? 'competitors' : 'brand_kits']: n })));
  expect((await billing.usage(orgId)).limits).toMatchObject({
    webhooks: { override: 9 },
    competitors: { override: expect.any(Number) },
    brand_kits: { override: expect.any(Number) },
  });
  await expect(db.sql.begin((tx) => billing.override(tx, newId(), { channel: 1 }))).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('without billing nothing is disabled and limits without a maximum are not queried [S216]', async () => {
  const { orgId } = await seedOrg(db.sql, 2);
  await override(db.sql, orgId, { channel: 0 });
  const statements: string[] = [];
  await using product = await openPublishing({
    url: db.url,
    engine: world.beside.engine,
    onStatement: (text) => void statements.push(text),
  });
  const off = product.billing;
  statements.length = 0;
  expect(await product.sql.begin((tx) => off.admit(tx, orgId, 'storage_gb', 1_000))).toBeUndefined();
  expect(statements.filter((text) => !/^(begin|commit)/i.test(text))).toEqual([]);
  expect(await db.sql.begin((tx) => off.enforceLimits(tx, orgId))).toEqual({ channels: [], members: [] });
});
