import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ProviderError } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { gate } from '../../../support/wire/eventually.ts';
import { settles } from '../../../support/wire/settles.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Network,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

// A request that its network takes long after its answer was lost. Where the network knows a second one, that one is
// sent at once; nobody else may take the post for absent before the first can arrive no more.

let db: TestDatabase;
let network: Network;
let world: Publisher;
/** The network takes the request that it was sent first. */
let arrive: () => void;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

async function start(once: 'key' | 'own-id') {
  network = Object.assign(openNetwork(), { once });
  world = await startPublisher({ url: db.url, network });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const lost = () => new ProviderError('lost', 'the connection was reset');

/** A post whose first request is still on its way when its answer is lost; `again` answers the second. */
async function losePost(again: (accept: () => void) => void = (accept) => accept()) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  network.behave = async ({ id }, _sent, accept) => {
    const take = () => {
      if (!network.taken.some(({ postId }) => postId === id)) accept(); // it knows the second one
    };
    if (network.asked.length === 1) {
      arrive = take;
      throw lost();
    }
    again(take);
    return { id: `r-${id}`, url: `https://fake.example/${id}` };
  };
  await admit(world, orgId, [post]);
  return { orgId, channelId, post };
}

/** The same, with a brake that is on before the network says that it does not show the post. */
async function losePausedPost() {
  const looked = gate();
  network.find = async ({ id }) => {
    await looked.passed;
    return network.taken.some(({ postId }) => postId === id) ? { id: `r-${id}`, url: '' } : undefined;
  };
  const lostPost = await losePost();
  const { orgId, post } = lostPost;
  await settles(async () => expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'unconfirmed' }));
  await world.posts.setBrake(orgId, { scope: 'org' });
  looked.open();
  await settles(async () =>
    expect(await db.sql`select from post_timeline where post_id = ${post.id} and kind = 'retry_planned'`).toHaveLength(
      1,
    ),
  );
  return lostPost;
}
/** The next look-up has its time, and the reconciler looks. */
async function lookUpNow({ id }: { id: string }) {
  await db.sql`update posts set look_up_at = now() - interval '6 s' where id = ${id} and detail = 'unconfirmed'`;
  await world.reconciler.sweep();
}
async function expectOnItsWay(orgId: string, { id }: { id: string }) {
  expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'unconfirmed' });
  const actor = postActorOf(world, orgId, id);
  const conflict = { code: 'conflict' };
  await expect(actor.edit({ content: '<p>Other</p>' })).rejects.toMatchObject(conflict);
  await expect(actor.setStatus({ status: 'draft' })).rejects.toMatchObject(conflict);
  await expect(actor.cancel({})).rejects.toMatchObject(conflict);
}

describe.each(['key', 'own-id'] as const)('a request that a network of class %s takes late', (once) => {
  test('is found by the next look-up, and until then nobody may delete or change what a brake keeps [S112, S123]', async () => {
    await using _running = await start(once);
    const { orgId, post } = await losePausedPost();
    await expectOnItsWay(orgId, post);
    arrive();
    await lookUpNow(post);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    expect(network.asked).toHaveLength(1);
  });

  test('is sent again once the brake is off', async () => {
    await using _running = await start(once);
    const { orgId, post } = await losePausedPost();
    await lookUpNow(post);
    await settles(async () =>
      expect(await db.sql`select from posts where id = ${post.id} and look_ups = 2`).toHaveLength(1),
    );
    await world.posts.releaseBrake(orgId, { scope: 'org', spacingSeconds: 0 });
    await lookUpNow(post);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
    expect(network.taken).toHaveLength(1);
    const [row] = await db.sql`select attempts_failed as n from posts where id = ${post.id}`;
    expect(row!['n']).toBe(1);
  });

  test('leaves the post to people when it can arrive no more [S112, S123]', async () => {
    await using _running = await start(once);
    const { orgId, post } = await losePausedPost();
    // as time goes by
    await db.sql`update post_timeline set at = at - interval '12 s' where post_id = ${post.id}`;
    await db.sql`update posts set claimed_at = claimed_at - interval '12 s' where id = ${post.id}`;
    await lookUpNow(post);
    await settles(async () => expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'paused' }));
    await postActorOf(world, orgId, post.id).cancel({});
    expect(network.asked).toHaveLength(1);
  });

  test.each(['unavailable', 'rate_limited', 'rejected', 'reauthorize'] as const)(
    'is found though the second request was answered %s, and nobody may delete the post before [S112]',
    async (failure) => {
      await using _running = await start(once);
      const { orgId, channelId, post } = await losePost(() => {
        throw new ProviderError(failure, 'no');
      });
      await settles(async () =>
        expect(await stateOf(db.sql, post.id)).toMatchObject({ attempt: 2, detail: 'unconfirmed' }),
      );
      await expectOnItsWay(orgId, post);
      const [channel] = await db.sql`select resting_until > now() as rests from channels where id = ${channelId}`;
      expect(channel!['rests']).toBe(failure === 'rate_limited' ? true : null);
      arrive();
      await lookUpNow(post);
      await settled(db.sql, orgId);
      expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
      expect(network.taken).toHaveLength(1);
    },
  );
});
