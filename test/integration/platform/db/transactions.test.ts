import { beforeAll, expect, test, afterAll } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase, type Sql } from '../../../../src/platform/db/index.ts';
import { type TestDatabase, testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.sql`create table notes (text text)`;
}, 60_000);
afterAll(async () => database?.[Symbol.asyncDispose]());

/**
 * A transaction whose connection the server ends while its code waits for something else; `goOn` has the code take its
 * next step. It tells of its own end and of what `begin` answered.
 */
async function endedUnder(sql: Database, next: (tx: Sql) => Promise<unknown>) {
  const { promise: over, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begins } = Promise.withResolvers<number>();
  const { promise: told, resolve: tells } = Promise.withResolvers<unknown>();
  const outcome = sql
    .begin(async (tx) => {
      await tx`insert into notes values ('first')`;
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      begins(row!.pid);
      await over;
      try {
        tells(await next(tx));
      } catch (error) {
        tells(error);
        throw error;
      }
    })
    .catch((error: unknown) => error);
  await database.sql`select pg_terminate_backend(${await begun}, 5000)`;
  expect(await outcome).toMatchObject({ code: 'CONNECTION_CLOSED' });
  return { goOn, told };
}
const notes = () => database.sql<{ text: string }[]>`select text from notes`;

test('a transaction whose connection ended between two statements is refused its next one', async () => {
  const sql = openDatabase({ url: database.url, connections: 1 });
  const { goOn, told } = await endedUnder(sql, (tx) => tx`insert into notes values ('next')`);
  goOn();
  expect(await told).toMatchObject({ code: 'CONNECTION_CLOSED' });
  await sleep(50); // the driver would write its rollback by now
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  expect(await notes()).toEqual([]);
  await sql.end();
});

test('nothing of it is written by the connection that is made instead, and nothing ends the transaction on that', async () => {
  const sql = openDatabase({ url: database.url, connections: 1 });
  const { goOn, told } = await endedUnder(sql, (tx) => tx`insert into notes values ('next')`);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const second = sql.begin(async (tx) => {
    await tx`insert into notes values ('second')`;
    await over;
    return tx`select text from notes`;
  });
  await eventually(
    'it has begun',
    async () =>
      (
        await database.sql`
    select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
      ).length === 1,
  );
  goOn();
  await told;
  await sleep(50);
  expect(await notes()).toEqual([]);
  end();
  expect(await second).toEqual([{ text: 'second' }]);
  await database.sql`delete from notes`;
  await sql.end();
});

test('code that ends after its connection did neither commits nor rolls back', async () => {
  const sql = openDatabase({ url: database.url, connections: 1 });
  const { goOn, told } = await endedUnder(sql, async () => 'done');
  await sql`select 1`; // on the connection that is made instead
  goOn();
  expect(await told).toBe('done');
  await sleep(50);
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  await sql.end();
});
