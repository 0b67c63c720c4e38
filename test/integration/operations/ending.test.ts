import { expect, test } from '@jest/globals';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { wholeProduct } from '../../support/worlds/product.ts';

/** Passes connections on to the server of an address, and knows how many are open. */
async function startRelay(address: string) {
  const to = new URL(address);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(Number(to.port), to.hostname);
    open.add(client);
    client.on('close', () => void (open.delete(client), target.destroy())).on('error', () => target.destroy());
    target.on('close', () => client.destroy()).on('error', () => client.destroy());
    client.pipe(target);
    target.pipe(client);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const through = new URL(address);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

const redisUrl = process.env['TEST_REDIS_URL'];
// without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
(redisUrl ? test : test.skip)('what ends closes its connections to database and cache by itself [BO5]', async () => {
  await using db = await testDatabase();
  await using database = await startRelay(db.url);
  await using cache = await startRelay(redisUrl!);
  {
    await using product = await wholeProduct({ env: { DATABASE_URL: database.url, REDIS_URL: cache.url } });
    expect((await fetch(`${product.address}/health/ready`)).status).toBe(200);
    // of the cache one for questions and one for messages
    await eventually('both are connected', () => database.open.size > 0 && cache.open.size === 2);
  }
  await eventually('nothing is connected any more', () => database.open.size === 0 && cache.open.size === 0);
});
