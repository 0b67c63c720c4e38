import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import {
  admit,
  newPost,
  openNetwork,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

/** The end of an answer of Postgres to a statement that is over and committed. */
const READY = Buffer.from('Z\0\0\0\x05I');

/**
 * A way to the database that once, when a statement with these words has surely been carried out, cuts the connection
 * instead of passing the answer on. The driver sends the words first, and what carries it out when they were
 * understood.
 */
async function cutsAnswerTo(url: string, words: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let armed = true;
  const way = {
    url: '',
    cut: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
  const server = createServer((client) => {
    const behind = connect(Number(port), hostname);
    let told = false;
    let silent = false;
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          client.destroy();
          behind.destroy();
        });
    }
    let answer = Buffer.alloc(0);
    behind.on('data', (data) => {
      if (!silent) return void client.write(data);
      answer = Buffer.concat([answer, data]);
      if (!answer.subarray(-6).equals(READY)) return;
      way.cut += 1;
      client.destroy();
    });
    client.on('data', (data) => {
      behind.write(data);
      if (!armed) return;
      if (!told) return void (told = data.includes(words));
      armed = false;
      silent = true;
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  way.url = Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href;
  return way;
}

test('a claim with a lost answer holds its channel for seconds, not to the slot deadline, and the post is published once', async () => {
  await using way = await cutsAnswerTo(db.url, 'Taken for publishing');
  const network = openNetwork();
  network.settlesWithinMs = 1_000;
  await using world = await startPublisher({ url: way.url, network });
  const { orgId, channelId } = await seedOrg(db.sql);
  const [post, next] = [newPost(channelId), newPost(channelId)];
  await admit(world, orgId, [post, next]);
  await eventually('the answer is lost', () => way.cut === 1);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'publishing' });
  await eventually('the reconciler finds it', async () => (await world.reconciler.sweep())?.takenOver === 1);
  await settled(db.sql, orgId);
  expect(network.asked.map(({ postId }) => postId)).toEqual([post.id, next.id]);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
});

test('a result with a lost answer is written once, and the post claimed with it is published once by way of the reconciler', async () => {
  await using way = await cutsAnswerTo(db.url, 'as rests_until'); // only results say so
  const network = openNetwork();
  network.settlesWithinMs = 1_000;
  await using world = await startPublisher({ url: way.url, network });
  const { orgId, channelId } = await seedOrg(db.sql);
  const [post, next, last] = [newPost(channelId), newPost(channelId), newPost(channelId)];
  await admit(world, orgId, [post, next, last]);
  await eventually('the answer is lost', () => way.cut === 1);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED' });
  expect(await stateOf(db.sql, next.id)).toMatchObject({ detail: 'publishing', attempt: 1 });
  await eventually('the reconciler finds it', async () => (await world.reconciler.sweep())?.takenOver === 1);
  await settled(db.sql, orgId);
  expect(network.asked.map(({ postId }) => postId).toSorted()).toEqual([post.id, next.id, last.id].toSorted());
  expect(await stateOf(db.sql, next.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
  expect(await db.sql`select from post_timeline where post_id = ${post.id} and kind = 'published'`).toHaveLength(1);
});
