import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ProviderError, systemClock, tenantKey } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { gate } from '../../../support/wire/eventually.ts';
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
import { settles } from '../../../support/wire/settles.ts';

let db: TestDatabase;
let network: Network;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

async function start(options: Partial<Parameters<typeof startPublisher>[0]> = {}) {
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, ...options });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const lost = () => new ProviderError('lost', 'the connection was reset');
/** The first call is lost, after the network took the post or before. */
const loseFirst = (took: boolean) => {
  let calls = 0;
  network.behave = async (_post, _sent, accept) => {
    if (calls++ > 0) return accept();
    if (took) accept();
    throw lost();
  };
};

describe.each(['key', 'two-phase', 'own-id', 'read-back'] as const)(
  'a lost answer of a network of class %s',
  (once) => {
    test('is found there, and the post is not sent again', async () => {
      await using _running = await start();
      network.once = once;
      loseFirst(true);
      const { orgId, channelId } = await seedOrg(db.sql);
      const [post, next] = [newPost(channelId), newPost(channelId)];
      await admit(world, orgId, [post, next]);
      await settled(db.sql, orgId);
      // the slot was kept: the order stands
      expect(network.taken.map(({ postId }) => postId)).toEqual([post.id, next.id]);
      expect(await stateOf(db.sql, post.id)).toMatchObject({
        state: 'PUBLISHED',
        attempt: 1,
        releaseId: `r-${post.id}`,
      });
      expect(
        (await db.sql`select kind from post_timeline where post_id = ${post.id} order by id`).map(({ kind }) => kind),
      ).toEqual(['created', 'claimed', 'unconfirmed', 'reconciled']);
    });

    test('is not found there, and the post is sent again', async () => {
      await using _running = await start();
      network.once = once;
      if (once === 'two-phase' || once === 'read-back') network.settlesWithinMs = 1_500;
      loseFirst(false);
      const { orgId, channelId } = await seedOrg(db.sql);
      const post = newPost(channelId);
      await admit(world, orgId, [post]);
      await settled(db.sql, orgId);
      expect(network.taken).toHaveLength(1);
      expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
      const [first, second] = network.asked;
      if (network.settlesWithinMs) expect(second!.at - first!.at).toBeGreaterThanOrEqual(1_490); // the two clocks round
    });
  },
);

test('a missing post does not count as absent before the network has settled', async () => {
  await using _running = await start();
  network.settlesWithinMs = 2_000;
  let calls = 0;
  network.behave = async (_post, _sent, accept) => {
    if (calls++ > 0) return accept();
    setTimeout(accept, 900); // the first request is held, and accepted late
    throw lost();
  };
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  expect(network.looks).toBeGreaterThanOrEqual(2);
  expect(network.asked).toHaveLength(1);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
});

test('a post that waited for its limiter does not count as absent before the network has settled', async () => {
  await using _running = await start({ env: { PROVIDER_CALLS_IN_FLIGHT: '1' } });
  network.settlesWithinMs = 500;
  const turn = gate();
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [before, post] = [newPost(channelIds[0]!), newPost(channelIds[1]!)];
  let calls = 0;
  network.behave = async (_post, { postId }, accept) => {
    if (postId === before.id) return turn.passed.then(accept);
    if (calls++ > 0) return accept();
    setTimeout(accept, 250); // the first request is held, and accepted late
    throw lost();
  };
  await admit(world, orgId, [before]);
  await settles(() => expect(network.asked).toHaveLength(1));
  await admit(world, orgId, [post]);
  await settles(async () =>
    expect(
      await db.sql`select from posts where id = ${post.id} and claimed_at < now() - interval '1 second'`,
    ).toHaveLength(1),
  );
  turn.open();
  await settled(db.sql, orgId);
  expect(network.asked.map(({ postId }) => postId)).toEqual([before.id, post.id]);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
});

test('the settling time counts from the request to the network, not from its answer', async () => {
  network = openNetwork();
  let skippedMs = 0;
  world = await startPublisher({
    url: db.url,
    network,
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs },
  });
  await using _running = { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
  network.settlesWithinMs = 30_000;
  let late = () => {};
  network.behave = async (_post, _sent, accept) => {
    if (network.asked.length > 1) return accept();
    late = () => void accept();
    throw lost();
  };
  network.find = async ({ id }) => {
    if (network.taken.some(({ postId }) => postId === id)) return { id: `r-${id}`, url: 'https://fake.example/late' };
    late(); // right after the network looked; its answer takes longer than it needs to settle
    skippedMs = 40_000;
    return undefined;
  };
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  await admit(world, orgId, [post]);
  await settles(async () =>
    expect(
      await db.sql`select from posts where id = ${post.id} and detail = 'unconfirmed' and look_ups = 1`,
    ).toHaveLength(1),
  );
  await db.sql`update posts set look_up_at = now() - interval '6 s' where id = ${post.id}`;
  await world.reconciler.sweep(); // sparing the test the wait
  await settled(db.sql, orgId);
  expect(network.asked).toHaveLength(1);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
});

test('a network without a lookup leaves the decision to a person, and a second send needs a confirmation [S117]', async () => {
  await using _running = await start();
  network.once = 'at-most-once';
  loseFirst(true);
  const { orgId, channelId } = await seedOrg(db.sql);
  const [post, next] = [newPost(channelId), newPost(channelId)];
  await admit(world, orgId, [post, next]);
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({
    state: 'ERROR',
    detail: 'unconfirmed',
    errorKind: 'unconfirmed',
  });
  expect(await stateOf(db.sql, next.id)).toMatchObject({ state: 'PUBLISHED' });
  expect(await db.sql`select topic from outbox where entity_id = ${post.id} order by id`).toEqual([
    { topic: 'post.scheduled' },
    { topic: 'post.unconfirmed' },
  ]);
  const { items } = await world.posts.getTimeline(orgId, post.id);
  expect(items.map(({ kind }) => kind).slice(0, 3)).toEqual(['created', 'claimed', 'request_sent']);

  await expect(postActorOf(world, orgId, post.id).retry({ confirm: false })).rejects.toMatchObject({
    code: 'conflict',
  });
  await expect(postActorOf(world, orgId, post.id).setStatus({ status: 'schedule' })).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(network.asked).toHaveLength(2);
  await postActorOf(world, orgId, post.id).retry({ confirm: true });
  await settled(db.sql, orgId);
  expect(network.asked).toHaveLength(3);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
});

test('a post that the network made and hides from all is not made again by a retry without a confirmation [S118]', async () => {
  await using _running = await start();
  network.behave = async (_post, { handle }, accept) => {
    if (handle.saved !== undefined) return { id: 'made', url: 'https://fake.example/made' }; // it is visible by now
    await handle.save({ id: accept().id });
    return { held: 'Hidden until its owner has answered a challenge: 2 + 3' };
  };
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({
    state: 'ERROR',
    detail: 'unconfirmed',
    error: 'Hidden until its owner has answered a challenge: 2 + 3',
  });
  expect(await db.sql`select payload from outbox where entity_id = ${post.id} and topic = 'post.unconfirmed'`).toEqual([
    { payload: expect.objectContaining({ error: 'Hidden until its owner has answered a challenge: 2 + 3' }) },
  ]);
  const actor = postActorOf(world, orgId, post.id);
  await expect(actor.retry({ confirm: false })).rejects.toMatchObject({ code: 'conflict' });
  await actor.retry({ confirm: true });
  await settled(db.sql, orgId);
  expect(network.taken).toHaveLength(1);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', releaseId: 'made' });
});

test('a release set by a person publishes the post, frees the slot and continues the thread', async () => {
  await using _running = await start();
  network.find = async () => {
    throw new ProviderError('unavailable', 'down');
  };
  loseFirst(false);
  const { orgId, channelId } = await seedOrg(db.sql);
  const root = newPost(channelId);
  const reply = newPost(channelId, { group: root.group, rootPostId: root.id, parentPostId: root.id, content: 'reply' });
  const other = newPost(channelId, { content: 'other' });
  await admit(world, orgId, [root, reply, other]);
  await settles(async () =>
    expect(await stateOf(db.sql, root.id)).toMatchObject({ state: 'QUEUE', detail: 'unconfirmed' }),
  );
  await expect(postActorOf(world, orgId, root.id).edit({ content: 'changed' })).rejects.toMatchObject({
    code: 'conflict',
  });
  await expect(postActorOf(world, orgId, root.id).cancel({})).rejects.toMatchObject({ code: 'conflict' });
  await postActorOf(world, orgId, root.id).setRelease({ releaseId: 'by-hand' });
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, root.id)).toMatchObject({ state: 'PUBLISHED', releaseId: 'by-hand' });
  expect(network.taken.map(({ text }) => text).toSorted()).toEqual(['other', 'reply']);
  expect(network.asked.find(({ text }) => text === 'reply')!.handle.thread).toMatchObject([{ id: 'by-hand', url: '' }]);
  await expect(postActorOf(world, orgId, root.id).setRelease({ releaseId: 'again' })).rejects.toMatchObject({
    code: 'already_published',
  });
});

test('data saved by the adapter is available to the next attempt', async () => {
  await using _running = await start();
  network.once = 'own-id';
  const seen: unknown[] = [];
  network.behave = async (_post, { handle }, accept) => {
    seen.push(handle.saved);
    if (seen.length > 1) return accept();
    await handle.save({ key: 'first', odd: 'a\0b' });
    throw lost();
  };
  const { orgId, channelId } = await seedOrg(db.sql);
  await admit(world, orgId, [newPost(channelId)]);
  await settled(db.sql, orgId);
  expect(seen).toEqual([undefined, { key: 'first', odd: 'ab' }]);
});

test('a post still processed by the network is polled and frees the channel', async () => {
  await using _running = await start();
  const ready = gate();
  let polls = 0;
  network.behave = async (post, _sent, accept) => (post.text === 'film' ? { processingMs: 1_000 } : accept());
  network.find = async (post) => {
    await ready.passed;
    return polls++ === 0 ? { id: `r-${post.id}`, url: 'https://fake.example/film' } : undefined;
  };
  const { orgId, channelId } = await seedOrg(db.sql);
  const [film, other] = [newPost(channelId, { content: 'film' }), newPost(channelId, { content: 'other' })];
  await admit(world, orgId, [film, other]);
  await settled(db.sql, orgId, { details: ['processing'] });
  expect(await stateOf(db.sql, film.id)).toMatchObject({ state: 'QUEUE', detail: 'processing' });
  expect(await stateOf(db.sql, other.id)).toMatchObject({ state: 'PUBLISHED' });
  await expect(postActorOf(world, orgId, film.id).edit({ content: 'changed' })).rejects.toMatchObject({
    code: 'conflict',
  });
  ready.open();
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, film.id)).toMatchObject({ state: 'PUBLISHED' });
  expect(network.asked).toHaveLength(2);
});

describe('threads of posts', () => {
  test('each item is sent as a reply to the items before it, after its delay', async () => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    const root = newPost(channelId, { content: 'one' });
    const two = newPost(channelId, { content: 'two', group: root.group, rootPostId: root.id, parentPostId: root.id });
    const three = newPost(channelId, {
      content: 'three',
      group: root.group,
      rootPostId: root.id,
      parentPostId: two.id,
      delayMinutes: 7,
    });
    await admit(world, orgId, [root, two, three]);
    await settles(async () => expect(await stateOf(db.sql, two.id)).toMatchObject({ state: 'PUBLISHED' }));
    await systemClock.sleep(100);
    expect(network.taken.map(({ text }) => text)).toEqual(['one', 'two']);
    expect(network.asked[1]!.handle.thread).toEqual([
      { id: `r-${root.id}`, url: `https://fake.example/${root.id}`, saved: { n: 1 } },
    ]);
    const waits = (await stateOf(db.sql, three.id)).dueAt!.getTime() - Date.now();
    expect(waits).toBeGreaterThan(6.5 * 60_000);
    expect(waits).toBeLessThanOrEqual(7 * 60_000);
    expect(await db.sql`select topic from outbox where org_id = ${orgId} and topic = 'post.published'`).toHaveLength(1);
    await settles(async () =>
      expect(
        await db.sql`select due_at from actor_reminders where type = 'Channel' and id = ${tenantKey(orgId, channelId)}`,
      ).toHaveLength(1),
    );
  });

  test('a failed item fails those behind it; a retry goes on there, never at the root, and delays count from then [S118]', async () => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    const root = newPost(channelId, { content: 'one' });
    const two = newPost(channelId, { content: 'two', group: root.group, rootPostId: root.id, parentPostId: root.id });
    const three = newPost(channelId, {
      content: 'three',
      group: root.group,
      rootPostId: root.id,
      parentPostId: two.id,
    });
    const four = newPost(channelId, {
      content: 'four',
      group: root.group,
      rootPostId: root.id,
      parentPostId: three.id,
      delayMinutes: 7,
    });
    let broken = true;
    network.behave = async (post, _sent, accept) => {
      if (post.text === 'two' && broken) throw new ProviderError('rejected', 'no');
      return accept();
    };
    await admit(world, orgId, [root, two, three, four]);
    await settled(db.sql, orgId);
    expect(await Promise.all([root, two, three].map(async ({ id }) => (await stateOf(db.sql, id)).state))).toEqual([
      'PUBLISHED',
      'ERROR',
      'ERROR',
    ]);
    expect((await stateOf(db.sql, three.id)).error).toBe('The item of the thread before it was not published');
    await expect(postActorOf(world, orgId, three.id).retry({ confirm: false })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(postActorOf(world, orgId, root.id).retry({ confirm: false })).rejects.toMatchObject({
      code: 'conflict',
    });
    broken = false;
    await db.sql`
      update posts
      set publish_date = publish_date - interval '1 hour', due_at = due_at - interval '1 hour'
      where org_id = ${orgId}`;
    await postActorOf(world, orgId, two.id).retry({ confirm: false });
    await settles(async () => expect(await stateOf(db.sql, three.id)).toMatchObject({ state: 'PUBLISHED' }));
    expect(network.taken.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
    const [{ waits }] = (await db.sql`
      select extract(epoch from f.due_at - t.published_at)::float8 as waits
      from posts f, posts t
      where f.id = ${four.id} and t.id = ${three.id}`) as unknown as [{ waits: number }];
    expect(Math.round(waits)).toBe(7 * 60);
  });
});
