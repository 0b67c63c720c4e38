import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import {
  beginCollection,
  collectAll,
  daysAgo,
  gapsOf,
  makeCollectionsDue,
  numbersOf,
  openCollections,
  seedPost,
} from '../../support/worlds/analytics.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// Which posts are read in a night, and which are left out.

const { db, network, world, begin, close } = await openCollections();
afterAll(close);
let told: Awaited<ReturnType<typeof begin>>;
beforeEach(async () => {
  told = await begin();
});

const YESTERDAY = daysAgo(1);

describe('posts of a channel', () => {
  const released = (posts: readonly string[]) => posts.map((id) => `r-${id}`);
  async function seedPosts(count: number) {
    const org = await seedOrg(db.sql);
    const posts: string[] = [];
    for (let ago = 1; ago <= count; ago++) posts.push(await seedPost(db.sql, { ...org, ago }));
    return { ...org, posts };
  }

  test('are read first where they have no counts of the day yet: a retry goes on where the last try ended', async () => {
    const { channelId, posts } = await seedPosts(5);
    told = numbersOf(network, { atOnce: 2 });
    let isAway = true;
    told.counts = (release) => {
      if (isAway && release === `r-${posts[2]}`) throw new ProviderError('unavailable', 'away');
      return { likes: 1 };
    };
    await beginCollection(world);
    await world.analytics.collectDue(50);
    isAway = false;
    await makeCollectionsDue(db.sql);
    await world.analytics.collectDue(50);
    expect(told.posts.slice(2)).toEqual([
      released([posts[2]!, posts[3]!]),
      released([posts[4]!, posts[0]!]),
      released([posts[1]!]),
    ]);
    expect(await gapsOf(db.sql, channelId)).toEqual([]);
  });

  test('for which the time did not suffice are read in a later try', async () => {
    let passedMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    await using slow = await openPublishing({ url: db.url, engine: noEngine, network, clock });
    const { channelId, posts } = await seedPosts(3);
    told = numbersOf(network, { atOnce: 2 });
    told.counts = () => {
      passedMs += 3 * 60_000;
      return { likes: 1 };
    };
    await beginCollection(slow);
    await slow.analytics.collectDue(50);
    expect(told.posts).toEqual([released(posts.slice(0, 2))]);
    expect(await db.sql`select failures from analytics_collections`).toEqual([{ failures: 1 }]);
    await makeCollectionsDue(db.sql);
    await slow.analytics.collectDue(50);
    expect(told.posts[1]).toEqual(released([posts[2]!, posts[0]!]));
    expect(await gapsOf(db.sql, channelId)).toEqual([]);
  });

  test('that a network refuses take none of their page with them', async () => {
    const { channelId, posts } = await seedPosts(9);
    told.counts = (release) => {
      if (release === `r-${posts[6]}`) throw new ProviderError('rejected', 'No such post');
      return { likes: 1 };
    };
    await collectAll(world);
    const counted = await db.sql<{ id: string }[]>`select post_id as id from analytics_post_days`;
    expect(new Set(counted.map(({ id }) => id))).toEqual(new Set(posts.filter((_, n) => n !== 6)));
    expect(told.posts.map(({ length }) => length)).toEqual([9, 5, 4, 2, 1, 1, 2]);
    expect(await gapsOf(db.sql, channelId)).toEqual([]);
  });

  test('that are all refused are asked for a bounded number of times, and their day is a gap', async () => {
    const { channelId } = await seedPosts(29);
    told.counts = () => {
      throw new ProviderError('rejected', 'Missing scope');
    };
    await collectAll(world);
    expect(told.posts.length).toBeLessThanOrEqual(33);
    expect(await gapsOf(db.sql, channelId)).toEqual([{ date: YESTERDAY, reason: 'Missing scope' }]);
  });
});
