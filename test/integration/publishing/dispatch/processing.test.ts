import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
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

let db: TestDatabase;
let network: Network;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

async function start() {
  network = openNetwork();
  network.once = 'two-phase';
  world = await startPublisher({ url: db.url, network });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const FILM = { id: 'r-film', url: 'https://fake.example/film' };
const savedOf = async (postId: string) =>
  (await db.sql`select saved -> 'value' as value from posts where id = ${postId}`)[0]!['value'] as unknown;
const kindsOf = async (postId: string) =>
  (await db.sql`select kind from post_timeline where post_id = ${postId} order by id`).map(
    ({ kind }) => kind as string,
  );

const dueNow = async (orgId: string, postId: string) => {
  await db.sql`update posts set due_at = now() where id = ${postId}`;
  await db.sql`update channels set next_due_at = now() - interval '1 minute', due_version = due_version + 1 where org_id = ${orgId}`;
  await world.reconciler.sweep();
};

describe('a post that the network works on', () => {
  /** One that was taken with a handle. */
  async function film() {
    let n = 0;
    network.behave = async (_post, { handle }) => {
      await handle.save({ upload: (n += 1) });
      return { processingMs: 1_000 };
    };
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId);
    await admit(world, orgId, [post]);
    return { orgId, channelId, post };
  }

  test('is published when the network says so, asked by the handle that was saved', async () => {
    await using _running = await start();
    const asked: unknown[] = [];
    network.poll = async (_post, saved) => (asked.push(saved) === 1 ? { processingMs: 1_000 } : FILM);
    const { orgId, post } = await film();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', releaseId: 'r-film', attempt: 1 });
    expect(asked).toEqual([{ upload: 1 }, { upload: 1 }]);
    expect(await kindsOf(post.id)).toEqual(['created', 'claimed', 'accepted', 'accepted', 'published']);
    expect(network.looks).toBe(0);
  });

  test('fails for good in the words of the network when it is refused after all', async () => {
    await using _running = await start();
    network.poll = async () => ({ rejected: 'The video is longer than 60 seconds' });
    const { orgId, post } = await film();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({
      state: 'ERROR',
      errorKind: 'validation',
      error: 'The video is longer than 60 seconds',
    });
    expect(network.asked).toHaveLength(1);
  });

  test('begins anew, without the old handle, when the network dropped it', async () => {
    await using _running = await start();
    network.poll = async (_post, saved) => ((saved as { upload: number }).upload === 1 ? { expired: true } : FILM);
    const { orgId, post } = await film();
    // the second attempt is due in ten seconds
    await settles(async () => expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'retrying' }));
    expect(await savedOf(post.id)).toBeNull();
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([undefined, undefined]);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
  });

  test('is neither sent again nor failed while the network cannot be asked', async () => {
    await using _running = await start();
    const failures = ['unavailable', 'reauthorize', 'rejected'] as const;
    let asked = 0;
    network.poll = async () => {
      const failure = failures[asked++];
      if (failure === undefined) return FILM;
      throw new ProviderError(failure, 'cannot be asked', { retryAfterMs: 1 });
    };
    const { orgId, post } = await film();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    expect(network.asked).toHaveLength(1);
  });

  test('is left to a person when the network works on it for longer than it ever does', async () => {
    await using _running = await start();
    network.processesWithinMs = 500;
    network.poll = async () => ({ processingMs: 1_000 });
    const { orgId, post } = await film();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({
      state: 'ERROR',
      detail: 'unconfirmed',
      error: 'The network took the post and never said that it is out',
    });
    expect(network.asked).toHaveLength(1);
  });

  /** One that the network has worked on for so long, and that is asked about once more. */
  async function worked({ since, polls = 1 }: { since: string; polls?: number }) {
    network.behave = async (_post, { handle }) => (await handle.save({ upload: 1 }), { processingMs: 60_000 });
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId);
    await admit(world, orgId, [post]);
    await settled(db.sql, orgId, { details: ['processing'] });
    await db.sql`
      update posts
      set claimed_at = now() - ${since}::interval, look_ups = ${polls}
      where id = ${post.id}`;
    await pollNow(post.id);
    return { orgId, post };
  }
  const pollNow = async (postId: string) => {
    await db.sql`update posts set look_up_at = now() - interval '1 minute' where id = ${postId}`;
    await world.reconciler.sweep();
  };

  test('is asked for as long as its network may work, however often that is, and more seldom', async () => {
    await using _running = await start();
    let isOut = false;
    network.poll = async () => (isOut ? FILM : { processingMs: 60_000 });
    const { orgId, post } = await worked({ since: '2 hours', polls: 500 });
    const asked = () => db.sql`
      select detail, look_ups, look_up_at > now() + interval '4 minutes' as "inMinutes"
      from posts
      where id = ${post.id}`;
    await settles(async () =>
      expect(await asked()).toEqual([{ detail: 'processing', look_ups: 501, inMinutes: true }]),
    );
    isOut = true;
    await pollNow(post.id);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
  });

  test('is left to a person when its network could not be asked for a day', async () => {
    await using _running = await start();
    network.poll = async () => {
      throw new ProviderError('unavailable', 'cannot be asked', { retryAfterMs: 60_000 });
    };
    const { orgId, post } = await worked({ since: '1 day' });
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'ERROR', detail: 'unconfirmed' });
  });

  test('is asked about by another process after a restart', async () => {
    let orgId: string;
    let postId: string;
    {
      await using _first = await start();
      network.poll = async () => ({ processingMs: 60_000 });
      const { orgId: org, post } = await film();
      [orgId, postId] = [org, post.id];
      await settled(db.sql, orgId, { details: ['processing'] });
    }
    await using _second = await start();
    network.poll = async () => FILM;
    await db.sql`update posts set look_up_at = now() - interval '1 minute' where id = ${postId}`;
    await world.reconciler.sweep();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, postId)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    expect(network.asked).toHaveLength(0);
  });
});

describe('the steps before a post is published', () => {
  test('follow each other with what they saved until the network is ready, and then the post goes out', async () => {
    await using _running = await start();
    const steps: unknown[] = [];
    network.prepare = async (_post, handle) => {
      steps.push(handle.saved);
      await handle.save({ parts: steps.length });
      return steps.length < 3 ? { againMs: 1 } : 'ready';
    };
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId);
    await admit(world, orgId, [post]);
    await settled(db.sql, orgId);
    expect(steps).toEqual([undefined, { parts: 1 }, { parts: 2 }]);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ parts: 3 }]);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
  });

  test('that fail are made again, from what was saved: nothing was public, so nothing is looked for', async () => {
    await using _running = await start();
    let failed = false;
    network.prepare = async (_post, handle) => {
      if (failed) return 'ready';
      failed = true;
      await handle.save({ parts: 1 });
      throw new ProviderError('lost', 'the connection was reset', { retryAfterMs: 1 });
    };
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId);
    await admit(world, orgId, [post]);
    await settles(async () =>
      expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'retrying', errorKind: 'network' }),
    );
    await settled(db.sql, orgId);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ parts: 1 }]);
    expect(network.looks).toBe(0);
  });

  /** A post whose network is not ready within a short time, and another one behind it. */
  async function slow() {
    const ready = gate();
    let isReady = false;
    void ready.passed.then(() => (isReady = true));
    network.prepare = async (post, handle) => {
      if (post.text !== 'film' || isReady) return 'ready';
      await handle.save({ upload: 1 });
      return { againMs: 60_000 };
    };
    const { orgId, channelId } = await seedOrg(db.sql);
    const [film, other] = [newPost(channelId, { content: 'film' }), newPost(channelId, { content: 'other' })];
    await admit(world, orgId, [film, other]);
    await settles(async () => expect(await stateOf(db.sql, other.id)).toMatchObject({ state: 'PUBLISHED' }));
    return { orgId, film, ready };
  }
  test('that take long let the next post of the channel go ahead, and count as no failure', async () => {
    await using _running = await start();
    const { orgId, film, ready } = await slow();
    expect(await stateOf(db.sql, film.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', error: null });
    expect(await db.sql`select attempts_failed from posts where id = ${film.id}`).toEqual([{ attempts_failed: 0 }]);
    expect(await kindsOf(film.id)).toEqual(['created', 'claimed', 'accepted']);
    ready.open();
    await systemClock.sleep(0);
    await dueNow(orgId, film.id);
    await settled(db.sql, orgId);
    expect(network.asked.at(-1)!.handle.saved).toEqual({ upload: 1 });
    expect(network.asked.map(({ text }) => text)).toEqual(['other', 'film']);
  });

  test('are given up when the network does not get ready in the longest time it takes; a retry begins anew', async () => {
    await using _running = await start();
    const { orgId, film, ready } = await slow();
    await db.sql`
      update posts
      set saved = jsonb_set(saved, '{since}', to_jsonb((now() - interval '1 day')::text))
      where id = ${film.id}`;
    await dueNow(orgId, film.id);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, film.id)).toMatchObject({
      state: 'ERROR',
      error: 'The network did not get ready for the post',
    });
    ready.open();
    await systemClock.sleep(0);
    await postActorOf(world, orgId, film.id).retry({ confirm: false });
    await settled(db.sql, orgId);
    expect(network.asked.at(-1)).toMatchObject({ text: 'film', handle: { saved: undefined } });
  });

  test('begin anew when the content is edited meanwhile, and not when its date is', async () => {
    await using _running = await start();
    const { orgId, film, ready } = await slow();
    await postActorOf(world, orgId, film.id).edit({ publishDate: new Date(Date.now() + 60_000) });
    expect(await savedOf(film.id)).toEqual({ upload: 1 });
    await postActorOf(world, orgId, film.id).edit({ content: 'film ' });
    expect(await savedOf(film.id)).toBeNull();
    ready.open();
  });
});

test('a rate-limited network gets all posts in order, and no more requests than it allows', async () => {
  await using _running = await start();
  let left = 3;
  network.behave = async (_post, _sent, accept) => {
    if (left-- > 0) return accept();
    left = 3;
    throw new ProviderError('rate_limited', 'slow down', { retryAfterMs: 1_000 });
  };
  const { orgId, channelId } = await seedOrg(db.sql);
  const due = systemClock.in(500);
  const posts = Array.from({ length: 10 }, () => newPost(channelId, { publishDate: due }));
  await admit(world, orgId, posts);
  await settled(db.sql, orgId, { timeoutMs: 50_000 });
  expect(network.taken.map(({ postId }) => postId)).toEqual(posts.map(({ id }) => id));
  expect(network.asked).toHaveLength(13);
  expect(await db.sql`select from posts where org_id = ${orgId} and state <> 'PUBLISHED'`).toHaveLength(0);
});
