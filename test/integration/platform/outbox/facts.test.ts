import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { announce, append } from '../../../../src/platform/outbox/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
const orgId = newId();
beforeAll(async () => void (db = await testDatabase()));
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => void (await db.sql`truncate outbox`));
const written = () => db.sql`select org_id as "orgId", topic, entity_id as "entityId", payload from outbox order by id`;

test('a statement announces the facts that it makes, in the order of their topics', async () => {
  const [one, two] = [newId(), newId()];
  const { sql } = db;
  await sql`
    with channel as (
      select ${orgId}::uuid as org_id, id, false as lost from unnest(${[one, two]}::uuid[]) id
    ), ${announce(sql, {
      'channel.connected': {
        from: sql`channel`,
        payload: { providerId: sql`'x'::text`, name: sql`'Acme ' || right(id::text, 4)` },
      },
      'channel.disabled': {
        from: sql`channel where id = ${two}`,
        payload: { providerId: sql`'x'::text`, name: sql`'Acme'`, reason: sql`${'plan'}::text` },
      },
    })},
    ${announce(sql, { 'channel.deleted': { from: sql`channel where lost`, payload: { providerId: sql`'x'`, name: sql`'Acme'`, reason: sql`'person'` } } })}
    select from channel`;
  expect(await written()).toEqual([
    { orgId, topic: 'channel.connected', entityId: one, payload: { providerId: 'x', name: `Acme ${one.slice(-4)}` } },
    { orgId, topic: 'channel.connected', entityId: two, payload: { providerId: 'x', name: `Acme ${two.slice(-4)}` } },
    { orgId, topic: 'channel.disabled', entityId: two, payload: { providerId: 'x', name: 'Acme', reason: 'plan' } },
  ]);
});

test('announce writes facts in their order, and nothing for an empty list', async () => {
  const [one, two] = [newId(), newId()];
  await append(db.sql, []);
  await append(db.sql, [
    { orgId, topic: 'channel.disabled', entityId: two, payload: { providerId: 'x', name: 'Two', reason: 'plan' } },
    { orgId, topic: 'channel.connected', entityId: one, payload: { providerId: 'x', name: 'Acme "☃"' } },
  ]);
  expect(await written()).toEqual([
    { orgId, topic: 'channel.disabled', entityId: two, payload: { providerId: 'x', name: 'Two', reason: 'plan' } },
    { orgId, topic: 'channel.connected', entityId: one, payload: { providerId: 'x', name: 'Acme "☃"' } },
  ]);
});
