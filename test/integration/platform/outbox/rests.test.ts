import { expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { announce, append } from '../../../../src/platform/outbox/index.ts';
import { openRest } from '../../../../src/platform/outbox/rest.ts';
import { testDatabase } from '../../../support/wire/database.ts';

const orgId = newId();
const fact = () => ({
  orgId,
  topic: 'channel.disabled' as const,
  entityId: newId(),
  payload: { providerId: 'sandbox', name: 'A channel', reason: 'person' as const },
});

test('a listener of the only process rests long, and each way to write a fact ends that', async () => {
  await using db = await testDatabase();
  await using other = await testDatabase();
  const { sql } = db;
  let [now, woken] = [0, 0];
  const rest = openRest({
    sql,
    clock: { monotonic: () => now },
    lookMs: 250,
    quietMs: 5_000,
    wake: () => (woken += 1),
  });
  const look = (isBehind = false) => {
    rest.begin();
    return rest.after(isBehind);
  };
  const quiet = () => {
    now += 5_000;
    return look();
  };

  expect(look()).toBe(250); // it began just now
  expect(quiet()).toBe(5_000);
  await sql`select count(*) from outbox`;
  await other.sql.begin((tx) => append(tx, [fact()]));
  expect(woken).toBe(0);

  await append(sql, [fact()]);
  expect(woken).toBe(1);
  expect(look()).toBe(250);
  expect(quiet()).toBe(5_000);
  await sql.begin((tx) => append(tx, [fact()]));
  expect(woken).toBe(2);
  expect(quiet()).toBe(5_000);
  const changed = sql`(select ${orgId}::uuid as org_id, ${newId()}::uuid as id) changed`;
  await sql`with ${announce(sql, { 'channel.disabled': { from: changed, payload: { providerId: sql`'sandbox'::text`, name: sql`'A channel'::text`, reason: sql`'person'::text` } } })} select`;
  expect(woken).toBe(3);
  expect(quiet()).toBe(5_000);
  await sql
    .begin(async (tx) => {
      await append(tx, [fact()]);
      throw new Error('the answer to the commit is lost');
    })
    .catch(() => undefined);
  expect(woken).toBe(4);
  expect(quiet()).toBe(5_000);
  await sql`insert into outbox (org_id, topic) values (${orgId}, null)`.catch(() => undefined);
  expect(woken).toBe(5);

  now += 5_000;
  rest.begin();
  await append(sql, [fact()]); // while it looks, which does not show it
  expect(rest.after(false)).toBe(250);
  expect(quiet()).toBe(5_000);
  expect(look(true)).toBe(250); // a transaction still keeps facts from it
  expect(look()).toBe(5_000);
  rest.heard();
  expect(look()).toBe(250);
});
