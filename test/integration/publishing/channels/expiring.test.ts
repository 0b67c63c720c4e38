import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Channels } from '../../../../src/publishing/channels/index.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { newId, openVault } from '../../../../src/platform/kernel/index.ts';
import { readConfig } from '../../../../src/platform/config/index.ts';
import { JWT_SECRET } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { openNetwork, openPublishing } from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
let world: Awaited<ReturnType<typeof openPublishing>>;
let channels: Channels;
const orgId = newId();
const vault = openVault(readConfig({ JWT_SECRET }).config.secrets.encryptionKey);
beforeAll(async () => {
  db = await testDatabase();
  await db.sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
  world = await openPublishing({ url: db.url, network: openNetwork() });
  ({ channels } = world);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => void (await db.sql`truncate channels, outbox cascade`));

/** A channel whose login ends in so many days; logins of `fake` are renewed by nobody. */
async function ending(days: number, { provider = 'fake', more = {} as object } = {}): Promise<string> {
  const id = newId();
  const login = { account: id, values: {}, tokens: { accessToken: 'a', expiresAt: new Date() }, grantedAt: new Date() };
  await db.sql`
    insert into channels ${db.sql({
      id,
      org_id: orgId,
      provider_id: provider,
      provider_version: 'v1',
      internal_id: id,
      name: 'Acme',
      credentials: sealCredentials(vault, login),
      ...more,
    })}`;
  await db.sql`update channels set token_expires_at = now() + ${days}::float8 * interval '1 day' where id = ${id}`;
  return id;
}
const told = async () =>
  (await db.sql`select entity_id, payload from outbox where topic = 'channel.token_expiring' order by id`).map(
    (row) => [row['entity_id'], (row['payload'] as { reason: string }).reason],
  );
/** Lets time go by for the login of a channel. */
const pass = (id: string, days: number) => db.sql`
  update channels
  set token_expires_at = token_expires_at - ${days}::float8 * interval '1 day',
    expiry_told_for = expiry_told_for - ${days}::float8 * interval '1 day'
  where id = ${id}`;

test('a login that a person has to renew is told of 7 days and one day before its end, once each [S137]', async () => {
  const id = await ending(7.5);
  const tell = () => channels.tellExpiring(100);
  await tell();
  expect(await told()).toEqual([]);
  await pass(id, 1);
  await tell();
  await tell();
  expect(await told()).toEqual([[id, '7_days']]);
  await pass(id, 3);
  await tell();
  expect(await told()).toHaveLength(1);
  await pass(id, 3);
  await Promise.all([tell(), tell()]);
  await tell();
  expect(await told()).toEqual([
    [id, '7_days'],
    [id, '1_day'],
  ]);
  const [fact] = await db.sql`select payload from outbox limit 1`;
  expect(fact!['payload']).toEqual({
    providerId: 'fake',
    name: 'Acme',
    reason: '7_days',
    expiresAt: expect.stringMatching(/Z$/),
  });
  await db.sql`update channels set token_expires_at = now() + interval '5 days' where id = ${id}`; // a new login
  await tell();
  expect((await told()).at(-1)).toEqual([id, '7_days']);
});

test('no login is told of that renews itself, has ended, or is gone [S137]', async () => {
  await ending(3, { provider: 'threads' });
  await ending(-1);
  await ending(3, { more: { refresh_needed: true } });
  await ending(3, { more: { deleted_at: new Date() } });
  await ending(3, { more: { credentials: 'v2:' } });
  const id = await ending(3);
  await channels.tellExpiring(100);
  expect(await told()).toEqual([[id, '7_days']]);
  expect(await channels.tellExpiring(100)).toBe(0);
});

test('nothing is told to an organization that is disabled or deleted, and all of it once that is in use again [S137]', async () => {
  const id = await ending(3);
  for (const out of ['disabled_at', 'deleted_at']) {
    await db.sql`update organizations set ${db.sql(out)} = now() where id = ${orgId}`;
    expect(await channels.tellExpiring(100)).toBe(0);
    await db.sql`update organizations set ${db.sql(out)} = null where id = ${orgId}`;
  }
  expect(await told()).toEqual([]);
  await channels.tellExpiring(100);
  expect(await told()).toEqual([[id, '7_days']]);
});
