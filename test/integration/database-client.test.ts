import { expect, test } from '@jest/globals';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { openDatabase } from '../../src/db/index.ts';
import { testDatabase } from '../support/database.ts';

test('the server knows our connections by their name', async () => {
  await using db = await testDatabase();
  const named = openDatabase({ url: db.url, connections: 1, applicationName: 'rookery-name' });
  expect(await named`select application_name as name, current_setting('timezone') as zone from pg_stat_activity where pid = pg_backend_pid()`).toEqual([
    { name: 'rookery-name', zone: 'UTC' },
  ]);
  await named.end();
});

test('the greeting is long enough that the driver sends it at once, whatever an ended connection has left unsent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sql = openDatabase({ url: `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`, connections: 1 });
  const asked = sql`select 1`.execute().catch(() => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [greeting] = (await once(socket, 'data')) as [Buffer];
  expect(greeting.length).toBeGreaterThanOrEqual(1_024);
  socket.destroy();
  server.close();
  await sql.end({ timeout: 0 });
  await asked;
});
