import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openReminders } from '../../../src/platform/actor-runtime/embedded/reminders.ts';
import { databaseTime } from '../../../src/platform/actor-runtime/embedded/time.ts';
import type { Host } from '../../../src/platform/actor-runtime/index.ts';
import { busy, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

test('the embedded engine does not offer waiting nudges to a full host again and again', async () => {
  const many = 500;
  const time = databaseTime(systemClock);
  const reminders = openReminders({
    sql: db.sql,
    clock: systemClock,
    time,
    log: quietLog(),
    retryMs: 5_000,
    sweepMs: 30_000,
    nearMs: 90_000,
  });
  await db.sql`
    insert into actor_reminders (type, id, name, due_at, version)
    select 'Channel', g::text, 'due', now(), gen_random_uuid()
    from generate_series(1, ${many}) g`;
  let room = 10;
  let refused = 0;
  const noted = new Set<string>();
  const host: Pick<Host, 'types' | 'isNudge' | 'fire'> = {
    types: ['Channel'],
    isNudge: () => true,
    async fire({ id }) {
      if (noted.size < room) noted.add(id);
      else {
        refused += 1;
        throw busy(1_000);
      }
    },
  };
  await reminders.open();
  reminders.fireTo(host as Host);
  await eventually('the host is full, and was asked again', () => refused >= 3);
  room = many;
  await eventually('all of them are noted', () => noted.size === many);
  expect(refused).toBeLessThan(100); // not those that waited, each time
  await eventually('their rows are gone', async () => (await db.sql`select from actor_reminders`).length === 0);
  await reminders.stop([]);
  await reminders.close();
});
