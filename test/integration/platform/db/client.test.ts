import { expect, test } from '@jest/globals';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { isUnavailable, openDatabase, openSession } from '../../../../src/platform/db/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';

test('connections carry our application name on the server', async () => {
  await using db = await testDatabase();
  const named = openDatabase({ url: db.url, connections: 1, applicationName: 'rookery-name' });
  expect(
    await named`select application_name as name, current_setting('timezone') as zone from pg_stat_activity where pid = pg_backend_pid()`,
  ).toEqual([{ name: 'rookery-name', zone: 'UTC' }]);
  await named.end();
});

test('the startup message is long enough for the driver to send it at once, whatever an ended connection left unsent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sql = openDatabase({
    url: `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`,
    connections: 1,
  });
  const asked = sql`select 1`.execute().catch(() => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [greeting] = (await once(socket, 'data')) as [Buffer];
  expect(greeting.length).toBeGreaterThanOrEqual(1_024);
  socket.destroy();
  server.close();
  await sql.end({ timeout: 0 });
  await asked;
});

/**
 * A way to the database whose open connections fall silent, both ways and without a word, while new ones work: as
 * behind a firewall that forgot them.
 */
async function freezable(url: string) {
  const { hostname, port } = new URL(url);
  const pairs = new Set<{ client: Socket; frozen: boolean }>();
  const server = createServer((client) => {
    const pair = { client, frozen: false };
    pairs.add(pair);
    const behind = connect(Number(port), hostname);
    client.on('data', (data) => void (pair.frozen || behind.write(data))).on('error', () => {});
    behind.on('data', (data) => void (pair.frozen || client.write(data))).on('error', () => {});
    client.on('close', () => void (pair.frozen || behind.destroy()));
    behind.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href,
    freeze: () => pairs.forEach((pair) => (pair.frozen = true)),
    [Symbol.dispose]() {
      for (const { client } of pairs) client.destroy();
      server.close();
    },
  };
}

test('silent connections are closed and replaced, and their locks on the server are released', async () => {
  await using db = await testDatabase();
  using way = await freezable(db.url);
  const sql = openDatabase({ url: way.url, connections: 2 });
  let ended = 0;
  const session = openSession(sql, () => (ended += 1));
  expect(await session`select pg_try_advisory_lock(4711::bigint) as held`).toEqual([{ held: true }]);
  await Promise.all([sql`select pg_sleep(0.1)`, sql`select pg_sleep(0.1)`]); // both connections are there
  await sql`create table kept (id int primary key, n int)`;
  await sql`insert into kept values (1, 0)`;
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const { promise: frozen, resolve: goOn } = Promise.withResolvers<void>();
  const transaction = sql
    .begin(async (tx) => {
      await tx`update kept set n = 1`;
      isLocked();
      await frozen;
      await tx`update kept set n = 2`;
    })
    .then(
      () => 'committed',
      () => 'ended',
    );
  await locked;
  way.freeze();
  goOn();
  const told = await Promise.allSettled([sql`select 1`, session`select 1`]);
  expect(told.map((one) => one.status === 'rejected' && (one.reason as { code: string }).code)).toEqual([
    'CONNECTION_CLOSED',
    'CONNECTION_CLOSED',
  ]);
  expect(await transaction).toBe('ended');
  await eventually('the session hears of its end', () => ended === 1);
  await eventually(
    'the lock of the session is free',
    async () => (await session`select pg_try_advisory_lock(4711::bigint) as held`)[0]!['held'] === true,
  );
  await eventually('the rows are free', async () => {
    await sql`select 1`; // as the product goes on asking
    return (await db.sql`select n from kept for update skip locked`).length === 1;
  });
  expect(await sql`select n from kept`).toEqual([{ n: 0 }]);
  await Promise.all([sql.end({ timeout: 1 }), session.end({ timeout: 1 })]);
});

test('a statement sent on the end of a connection is answered, and the session lock is released', async () => {
  await using db = await testDatabase();
  using way = await freezable(db.url);
  const sql = openDatabase({ url: way.url, connections: 1 });
  const session = openSession(sql, () => {});
  await session`select pg_try_advisory_lock(4711::bigint)`;
  await sql`select 1`;
  way.freeze();
  const told = sql`select 1`.catch(() =>
    sql`select 2`.then(
      () => 'answered',
      (error: { code: string }) => error.code,
    ),
  );
  await new Promise((wait) => setTimeout(wait, 1_500)); // the session asks later: the pool is the one that finds out
  await session`select 1`.catch(() => {});
  // the driver had sent it on the connection that ended, and forgot it
  expect(['answered', 'CONNECTION_CLOSED']).toContain(await told);
  expect(await sql`select 3 as n`).toEqual([{ n: 3 }]);
  await eventually(
    'the lock of the session is free',
    async () => (await db.sql`select pg_try_advisory_lock(4711::bigint) as held`)[0]!['held'] === true,
  );
  await Promise.all([sql.end({ timeout: 1 }), session.end({ timeout: 1 })]);
});

test('a transaction hears that its connection is silent, where no other statement asks', async () => {
  await using db = await testDatabase();
  using way = await freezable(db.url);
  const sql = openDatabase({ url: way.url, connections: 1 });
  const told = sql.begin(async (tx) => {
    await tx`select 1`;
    way.freeze();
    await tx`select 2`;
  });
  expect(await told.catch(isUnavailable)).toBe(true);
  expect(await sql`select 3 as n`).toEqual([{ n: 3 }]);
  await sql.end({ timeout: 1 });
}, 30_000);

test('a statement at work on the server is waited for', async () => {
  await using db = await testDatabase();
  const sql = openDatabase({ url: db.url, connections: 1 });
  expect(await sql`select 1 as n from pg_sleep(6)`).toEqual([{ n: 1 }]);
  await sql.end();
});
