import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, ProviderError } from '../../../src/platform/kernel/index.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import {
  analyticsFacts,
  beginCollection,
  collectAll,
  daysAgo,
  daysOf,
  gapsOf,
  makeCollectionsDue,
  numbersOf,
  openCollections,
  seedCounts,
  seedPost,
} from '../../support/worlds/analytics.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// The nightly collection of numbers, over a network in the process of the test.

const { db, network, world, begin, close } = await openCollections();
afterAll(close);
let told: Awaited<ReturnType<typeof begin>>;
beforeEach(async () => {
  told = await begin();
});

const YESTERDAY = daysAgo(1);
const now = (metric: string, value: number) => ({ metric, points: [{ date: daysAgo(0), value }] });
const lastWeek = (metric: string, value: number) => ({
  metric,
  points: [7, 6, 5, 4, 3, 2, 1].map((ago) => ({ date: daysAgo(ago), value })),
});
const totalsOf = async (postId: string) =>
  (
    await db.sql<{ date: string; counts: object }[]>`
      select date::text as date, counts from analytics_post_days where post_id = ${postId} order by date`
  ).map(({ date, counts }) => [date, counts]);

describe('what is asked', () => {
  test('seven days of a channel, and the posts of thirty days, as many as the network takes [AN4, AN6, AN7, S232]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    told = numbersOf(network, { atOnce: 2 });
    const seen = [];
    for (const ago of [1, 2, 30]) seen.push(await seedPost(db.sql, { orgId, channelId, ago }));
    await seedPost(db.sql, { orgId, channelId, ago: 31 });
    await seedPost(db.sql, { orgId, channelId, ago: 0 }); // no whole day yet
    await seedPost(db.sql, { orgId, channelId, ago: 3, release: null });
    await collectAll(world);
    expect(told.days).toEqual([{ account: channelId, from: daysAgo(7), to: YESTERDAY }]);
    expect(told.posts).toEqual([[`r-${seen[0]}`, `r-${seen[1]}`], [`r-${seen[2]}`]]);
  });

  test('POST_DAYS_BACK is another number of days [AN4]', async () => {
    await using other = await openPublishing({ url: db.url, engine: noEngine, network, env: { POST_DAYS_BACK: '3' } });
    const { orgId, channelId } = await seedOrg(db.sql);
    const kept = await seedPost(db.sql, { orgId, channelId, ago: 3 });
    await seedPost(db.sql, { orgId, channelId, ago: 4 });
    await collectAll(other);
    expect(told.posts).toEqual([[`r-${kept}`]]);
  });

  test('no channel that is disabled, deleted, of an organization out of use, or without numbers', async () => {
    const off = await seedOrg(db.sql, 2);
    await db.sql`update channels set disabled = true where id = ${off.channelIds[0]!}`;
    await db.sql`update channels set deleted_at = now() where id = ${off.channelIds[1]!}`;
    const stopped = await seedOrg(db.sql);
    await db.sql`update organizations set disabled_at = now() where id = ${stopped.orgId}`;
    const mute = await seedOrg(db.sql);
    await db.sql`update channels set provider_id = 'medium' where id = ${mute.channelId}`;
    await collectAll(world);
    expect(told.days).toEqual([]);
    expect(await db.sql`select from analytics_runs`).toEqual([]);
    expect(await db.sql`select from outbox`).toEqual([]);
  });

  test('no channel of an organization that is disabled after its collection has begun', async () => {
    const { orgId } = await seedOrg(db.sql);
    await beginCollection(world);
    await db.sql`update organizations set disabled_at = now() where id = ${orgId}`;
    while ((await world.analytics.collectDue(50)) > 0);
    expect(told.days).toEqual([]);
    expect(await db.sql`select from analytics_collections`).toEqual([]);
  });

  test('a network without numbers of channels is asked for those of its posts alone', async () => {
    delete (network.declares as Record<string, unknown>)['channelMetrics'];
    told.counts = () => ({ likes: 3 });
    const { orgId, channelId } = await seedOrg(db.sql);
    await seedPost(db.sql, { orgId, channelId, ago: 1 });
    await collectAll(world);
    expect(told.days).toEqual([]);
    expect(await daysOf(db.sql, channelId)).toEqual({ likes: { [YESTERDAY]: 3 } });
  });
});

describe('when', () => {
  test('each organization has its minute between 00:30 and 04:30 UTC, the same every night', async () => {
    for (let n = 0; n < 40; n++) await seedOrg(db.sql);
    await world.analytics.keepSchedules(500);
    const planned = () => db.sql<{ id: string; minute: number; ahead: boolean }[]>`
      select org_id as id, (extract(epoch from next_at - date_trunc('day', next_at, 'UTC')) / 60)::int as minute,
        next_at > now() and next_at <= now() + interval '1 day' as ahead
      from analytics_schedules order by org_id`;
    const first = await planned();
    expect(first).toHaveLength(40);
    expect(first.every(({ minute, ahead }) => minute >= 30 && minute < 270 && ahead)).toBe(true);
    expect(new Set(first.map(({ minute }) => minute)).size).toBeGreaterThan(20);
    await db.sql`update analytics_schedules set next_at = now() - interval '3 days'`;
    await world.analytics.runCollections(500);
    expect(await planned()).toEqual(first);
  });
});

describe('what is kept', () => {
  test('days by channel and metric, with later corrections, and a stock as it is now as that of the last day', async () => {
    const { channelId } = await seedOrg(db.sql);
    told.series = () => [lastWeek('views', 10), now('followers', 100)];
    await collectAll(world);
    told.series = () => [lastWeek('views', 12), now('followers', 101)];
    await db.sql`delete from analytics_runs`;
    await collectAll(world);
    const { views, followers } = await daysOf(db.sql, channelId);
    expect(Object.keys(views!)).toHaveLength(7);
    expect([new Set(Object.values(views!)), followers]).toEqual([new Set([12]), { [YESTERDAY]: 101 }]);
  });

  test('the flows that a network does not tell by day are what its posts gained, and say derived', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const [old, young] = [
      await seedPost(db.sql, { orgId, channelId, ago: 9 }),
      await seedPost(db.sql, { orgId, channelId, ago: 1 }),
    ];
    const shrunk = await seedPost(db.sql, { orgId, channelId, ago: 8 });
    await seedCounts(db.sql, { orgId, channelId, postId: old }, { 3: { likes: 1, views: 5 }, 2: { likes: 4 } });
    await seedCounts(db.sql, { orgId, channelId, postId: shrunk }, { 2: { likes: 50 } });
    const counts: Record<string, object> = {
      [`r-${old}`]: { likes: 10, views: 500 },
      [`r-${young}`]: { likes: 2, shares: 1 },
      [`r-${shrunk}`]: { likes: 7, comments: 40 },
    };
    told.counts = (release) => counts[release] as never;
    told.series = () => [lastWeek('reach', 3)];
    await collectAll(world);
    const rows = await db.sql`
      select metric, value, derived from analytics_days
      where channel_id = ${channelId} and date = ${YESTERDAY} order by metric`;
    expect(rows).toEqual([
      { metric: 'comments', value: 0, derived: true }, // what is told first has not come about on one day
      { metric: 'likes', value: 8, derived: true },
      { metric: 'reach', value: 3, derived: false },
      { metric: 'shares', value: 1, derived: true },
      { metric: 'views', value: 0, derived: true },
    ]);
    expect(await totalsOf(young)).toEqual([[YESTERDAY, { likes: 2, shares: 1 }]]);
  });

  test('what a network tells by day is not replaced by what its posts gained', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await seedPost(db.sql, { orgId, channelId, ago: 1 });
    told.counts = () => ({ likes: 3 });
    told.series = () => [lastWeek('likes', 20)];
    await collectAll(world);
    expect((await daysOf(db.sql, channelId))['likes']![YESTERDAY]).toBe(20);
  });

  test('an old post that is seen for the first time has not gained everything in one day', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = await seedPost(db.sql, { orgId, channelId, ago: 20 });
    told.counts = () => ({ likes: 9_000 });
    await collectAll(world);
    expect(await daysOf(db.sql, channelId)).toEqual({});
    expect(await totalsOf(post)).toEqual([[YESTERDAY, { likes: 9_000 }]]);
  });

  test('values that are no counts are left out and named in the log, and the rest is kept', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = await seedPost(db.sql, { orgId, channelId, ago: 1 });
    told.counts = () => ({ likes: -4, views: Number.NaN, shares: 1e18, comments: 2 });
    told.series = () => [
      { metric: 'reach', points: [{ date: YESTERDAY, value: -1 }] },
      lastWeek('views', 5),
      { metric: 'clicks', points: [{ date: daysAgo(-1), value: 7 }] }, // of tomorrow
    ];
    await collectAll(world);
    expect(Object.keys(await daysOf(db.sql, channelId))).toEqual(['comments', 'views']);
    expect(await totalsOf(post)).toEqual([[YESTERDAY, { comments: 2 }]]);
    expect(world.log.lines).toContainEqual({
      level: 'warn',
      detail: { provider: 'fake', metrics: ['reach'] },
      message: expect.stringContaining('left out'),
    });
  });
});

describe('what it costs', () => {
  test('a channel with many posts is claimed, read and ended in six statements, none of which waits for a commit', async () => {
    const statements: string[] = [];
    const onStatement = (text: string) => void statements.push(text);
    await using counted = await openPublishing({ url: db.url, engine: noEngine, network, onStatement });
    const { orgId, channelIds } = await seedOrg(db.sql, 2);
    told = numbersOf(network, { atOnce: 2 });
    told.counts = () => ({ likes: 3 });
    told.series = () => [lastWeek('views', 10)];
    for (const channelId of channelIds)
      for (let ago = 1; ago <= 9; ago++) await seedPost(db.sql, { orgId, channelId, ago });
    await beginCollection(counted);
    statements.length = 0;
    await counted.analytics.collectDue(1);
    expect(told.posts).toHaveLength(5);
    const ofNumbers = /\b(?:update|insert into|delete from|from|exists \(select from) (analytics_\w+|posts)\b/;
    const left = 'analytics_collections'; // claimed, ended with the flows of its posts derived, looked for others
    const tables = statements.map((text) => ofNumbers.exec(text)?.[1] ?? text);
    expect(tables).toEqual([left, 'analytics_days', 'posts', 'analytics_post_days', left, left]);
  });
});

describe('a collection ends', () => {
  test('once for an organization and a day, when its last channel has ended', async () => {
    const { orgId } = await seedOrg(db.sql, 3);
    await beginCollection(world);
    await world.analytics.collectDue(2);
    expect(await analyticsFacts(db.sql, orgId)).toEqual([]);
    await world.analytics.collectDue(2);
    const complete = { topic: 'analytics.snapshot_complete', entityId: orgId, payload: { day: YESTERDAY } };
    expect(await analyticsFacts(db.sql, orgId)).toEqual([complete]);
    await collectAll(world);
    await world.analytics.runCollections(500);
    expect(await analyticsFacts(db.sql, orgId)).toEqual([complete]);
    expect(told.days).toHaveLength(3);
  });

  test('for two processes that read at once, each channel is asked once', async () => {
    await using other = await openPublishing({ url: db.url, engine: noEngine, network });
    const { orgId, channelIds } = await seedOrg(db.sql, 8);
    await beginCollection(world);
    await Promise.all([world, other, world, other].map(({ analytics }) => analytics.collectDue(3)));
    expect(told.days.map(({ account }) => account).toSorted()).toEqual(channelIds.toSorted());
    expect(await analyticsFacts(db.sql, orgId)).toHaveLength(1);
  });

  test('after a crash with those channels that are left, and what a crash left complete is announced', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 3);
    await beginCollection(world);
    await world.analytics.collectDue(1);
    // a process claimed the second and died; another ended the third and died before it completed the run
    const [claimed] = await db.sql`
      update analytics_collections set claim = ${newId()}, due_at = now() + interval '10 minutes'
      where (org_id, day, channel_id) in (select org_id, day, channel_id from analytics_collections limit 1)
      returning channel_id`;
    await db.sql`delete from analytics_collections where channel_id <> ${claimed!['channel_id']}`;
    expect(await world.analytics.collectDue(50)).toBe(0);
    await makeCollectionsDue(db.sql);
    await world.analytics.collectDue(50);
    expect(told.days.map(({ account }) => account)).toEqual([expect.any(String), claimed!['channel_id']]);
    expect(channelIds).toHaveLength(3);
    expect(await analyticsFacts(db.sql, orgId)).toHaveLength(1);

    const left = await seedOrg(db.sql);
    await beginCollection(world);
    await db.sql`delete from analytics_collections`;
    await world.analytics.runCollections(500);
    expect(await analyticsFacts(db.sql, left.orgId)).toHaveLength(1);
  });

  test('for others while the run of an organization cannot be completed', async () => {
    const [bad, good] = [await seedOrg(db.sql), await seedOrg(db.sql)];
    await beginCollection(world);
    await db.sql`delete from analytics_collections`;
    await db.sql`update analytics_runs set started_at = now() - interval '1 minute' where org_id = ${bad.orgId}`;
    {
      await using _refused = await refuseRows(db.sql, 'update', 'analytics_runs', `new.org_id = '${bad.orgId}'`);
      await world.analytics.runCollections(500);
      expect(await analyticsFacts(db.sql, good.orgId)).toHaveLength(1);
    }
    await world.analytics.runCollections(500);
    expect(await analyticsFacts(db.sql, bad.orgId)).toHaveLength(1);
  });
});

describe('a channel that fails', () => {
  const refuse = (failure: 'unavailable' | 'rejected' | 'reauthorize', message = 'The network is away') => {
    told.series = () => Promise.reject(new ProviderError(failure, message));
  };
  /** How often it was tried, and minutes until the next time. */
  const postponed = async (channelId: string) => {
    const [row] = await db.sql`
      select failures, round(extract(epoch from due_at - now()) / 60)::int as minutes
      from analytics_collections where channel_id = ${channelId}`;
    return row;
  };

  test('is tried three more times, an hour apart, then its day is a gap with the reason', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    refuse('unavailable');
    await beginCollection(world);
    for (const failures of [1, 2, 3]) {
      await makeCollectionsDue(db.sql);
      await world.analytics.collectDue(50);
      expect(await postponed(channelId)).toEqual({ failures, minutes: 60 });
      expect(await analyticsFacts(db.sql, orgId)).toEqual([]);
    }
    await makeCollectionsDue(db.sql);
    await world.analytics.collectDue(50);
    expect(await gapsOf(db.sql, channelId)).toEqual([{ date: YESTERDAY, reason: 'The network is away' }]);
    expect(await analyticsFacts(db.sql, orgId)).toHaveLength(1);
    expect(told.days).toHaveLength(4);
  });

  test('holds no other channel, and is whole when it answers later', async () => {
    const { channelIds } = await seedOrg(db.sql, 2);
    const [bad, good] = channelIds as [string, string];
    let isAway = true;
    told.series = ({ account }) =>
      isAway && account === bad ? Promise.reject(new ProviderError('unavailable', 'away')) : [lastWeek('views', 4)];
    await beginCollection(world);
    await world.analytics.collectDue(50);
    expect([await daysOf(db.sql, bad), Object.keys(await daysOf(db.sql, good))]).toEqual([{}, ['views']]);
    isAway = false;
    await makeCollectionsDue(db.sql);
    await world.analytics.collectDue(50);
    expect(Object.keys(await daysOf(db.sql, bad))).toEqual(['views']);
    expect(await gapsOf(db.sql, bad)).toEqual([]);
  });

  test('whose network refuses the numbers of channels still has those of its posts, and a gap', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await seedPost(db.sql, { orgId, channelId, ago: 1 });
    told.counts = () => ({ likes: 6 });
    refuse('rejected', 'Missing scope');
    await beginCollection(world);
    for (let tries = 0; tries < 4; tries++) {
      await makeCollectionsDue(db.sql);
      await world.analytics.collectDue(50);
    }
    expect(await daysOf(db.sql, channelId)).toEqual({ likes: { [YESTERDAY]: 6 } });
    expect(await gapsOf(db.sql, channelId)).toEqual([{ date: YESTERDAY, reason: 'Missing scope' }]);
  });

  test('for want of a login is a gap at once, and needs one', async () => {
    const { channelId, channelIds } = await seedOrg(db.sql, 2);
    await db.sql`update channels set refresh_needed = true where id = ${channelIds[1]!}`;
    refuse('reauthorize', 'The login was refused');
    await collectAll(world);
    expect(await gapsOf(db.sql, channelId)).toEqual([{ date: YESTERDAY, reason: 'The login was refused' }]);
    expect(await gapsOf(db.sql, channelIds[1]!)).toEqual([
      { date: YESTERDAY, reason: 'The channel needs a new login' },
    ]);
    expect(await db.sql`select refresh_needed from channels where id = ${channelId}`).toEqual([
      { refresh_needed: true },
    ]);
    expect(told.days.map(({ account }) => account)).toEqual([channelId]);
  });

  test('and was not read on its day is given up: what the network tells now is of another day', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await beginCollection(world);
    await db.sql`update analytics_collections set claim = null`;
    await db.sql`
      with moved as (
        insert into analytics_runs (org_id, day) select org_id, day - 1 from analytics_runs returning org_id, day
      )
      insert into analytics_collections (org_id, day, channel_id) select org_id, day, ${channelId}::uuid from moved`;
    await db.sql`delete from analytics_runs where day = ${YESTERDAY}`;
    expect(await world.analytics.collectDue(50)).toBe(0);
    await world.analytics.runCollections(500);
    expect(await gapsOf(db.sql, channelId)).toEqual([
      { date: daysAgo(2), reason: 'The service did not read it in time' },
    ]);
    expect(await analyticsFacts(db.sql, orgId)).toMatchObject([{ payload: { day: daysAgo(2) } }]);
  });
});

describe('beside publishing', () => {
  test('waits while the pace of the channel is used up, takes nothing from it, and has not failed', async () => {
    network.declares.pace = [{ per: 'account', posts: 2, ms: 600_000 }];
    const { channelId } = await seedOrg(db.sql);
    const key = `fake account 600000 ${channelId}`;
    await db.sql`
      insert into network_paces (key, posts, until) values (${key}, 2, now() + interval '20 minutes')`;
    await collectAll(world);
    expect(told.days).toEqual([]);
    const [row] = await db.sql`
      select failures, round(extract(epoch from due_at - now()) / 60)::int as minutes from analytics_collections`;
    expect(row).toEqual({ failures: 0, minutes: 20 });
    await db.sql`update network_paces set posts = 1`;
    await makeCollectionsDue(db.sql);
    await world.analytics.collectDue(50);
    expect(told.days).toHaveLength(1);
    expect(await db.sql`select posts from network_paces`).toEqual([{ posts: 1 }]);
  });
});
