import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { emptyTables, testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  collectAll,
  daysAgo,
  daysOf,
  numbersOf,
  seedCounts,
  seedDays,
  seedPost,
} from '../../support/worlds/analytics.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { openNetwork, openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// How long numbers are kept, and what becomes of them.

type World = Awaited<ReturnType<typeof openPublishing>>;
let db: TestDatabase;
let world: World;
const network = openNetwork();
beforeAll(async () => {
  db = await testDatabase();
  world = await openPublishing({ url: db.url, engine: noEngine, network });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => emptyTables(db.sql, 'organizations'));

/** Days since the Monday of this ISO week. */
const sinceMonday = (new Date().getUTCDay() + 6) % 7;
/** Days since the Monday of the latest week all of whose days lie more than so many days back. */
const oldMonday = (days: number): number => {
  const weeks = Math.ceil((days - sinceMonday) / 7) + 1;
  return sinceMonday + 7 * weeks;
};
const week = (monday: number, value: (n: number) => number) =>
  Object.fromEntries(Array.from({ length: 7 }, (_, n) => [monday - n, value(n)]));
const weeksOf = (channelId: string) => db.sql`
  select metric, week::text as week, value, derived
  from analytics_weeks where channel_id = ${channelId} order by week, metric`;
const rollUp = async ({ analytics }: Pick<World, 'analytics'> = world) => {
  while ((await analytics.rollUp(10)) >= 10);
};

describe('days of channels', () => {
  test('become whole weeks behind ANALYTICS_DAILY_RETENTION_DAYS: flows add up, of stocks the latest stays [RT1, RT2, RT3]', async () => {
    const monday = oldMonday(548);
    const { orgId, channelIds } = await seedOrg(db.sql, 2);
    const [first, second] = channelIds as [string, string];
    await seedDays(db.sql, { orgId, channelId: first, values: week(monday, (n) => n + 1) });
    await seedDays(db.sql, {
      orgId,
      channelId: first,
      metric: 'followers',
      values: { [monday - 1]: 90, [monday - 4]: 70 },
    });
    await seedDays(db.sql, { orgId, channelId: first, metric: 'likes', values: { [monday]: 3 }, derived: true });
    await seedDays(db.sql, { orgId, channelId: first, values: week(monday - 7, () => 9) }); // the week after it stays
    await seedDays(db.sql, { orgId, channelId: second, values: { [monday + 7]: 5, [monday - 1]: 6 } });
    await rollUp();
    expect(await weeksOf(first)).toEqual([
      { metric: 'followers', week: daysAgo(monday), value: 70, derived: false },
      { metric: 'likes', week: daysAgo(monday), value: 3, derived: true },
      { metric: 'views', week: daysAgo(monday), value: 28, derived: false },
    ]);
    expect(await weeksOf(second)).toEqual([
      { metric: 'views', week: daysAgo(monday + 7), value: 5, derived: false },
      { metric: 'views', week: daysAgo(monday), value: 6, derived: false },
    ]);
    expect(Object.keys((await daysOf(db.sql, first))['views']!)).toHaveLength(7);
    expect(await daysOf(db.sql, second)).toEqual({});

    const [weeks, days] = [await weeksOf(first), await daysOf(db.sql, first)];
    await rollUp();
    expect([await weeksOf(first), await daysOf(db.sql, first)]).toEqual([weeks, days]);
  });

  test('become weeks a few at a time, each of them whole', async () => {
    const monday = oldMonday(548);
    const { orgId, channelIds } = await seedOrg(db.sql, 4);
    for (const channelId of channelIds)
      await seedDays(db.sql, { orgId, channelId, values: { ...week(monday + 7, () => 1), ...week(monday, () => 2) } });
    await world.analytics.rollUp(1);
    for (const channelId of channelIds) {
      expect(await weeksOf(channelId)).toMatchObject([{ week: daysAgo(monday + 7), value: 7 }]);
      expect(Object.keys((await daysOf(db.sql, channelId))['views']!)).toHaveLength(7);
    }
  });

  test('are kept as long as ANALYTICS_DAILY_RETENTION_DAYS says, and no part of a week goes [RT1]', async () => {
    await using short = await openPublishing({
      url: db.url,
      engine: noEngine,
      network,
      env: { ANALYTICS_DAILY_RETENTION_DAYS: '30' },
    });
    const monday = oldMonday(30);
    const { orgId, channelId } = await seedOrg(db.sql);
    await seedDays(db.sql, { orgId, channelId, values: { ...week(monday, () => 1), ...week(monday - 7, () => 1) } });
    await rollUp();
    expect(await weeksOf(channelId)).toEqual([]);
    await rollUp(short);
    expect(await weeksOf(channelId)).toMatchObject([{ week: daysAgo(monday), value: 7 }]);
    expect(Object.keys((await daysOf(db.sql, channelId))['views']!)).toHaveLength(7);
  });

  test('of a week that was rolled up are not corrected any more', async () => {
    const told = numbersOf(network);
    const { orgId, channelId } = await seedOrg(db.sql);
    const monday = sinceMonday === 0 ? 7 : sinceMonday; // of the week of yesterday
    await db.sql`
      insert into analytics_weeks (org_id, channel_id, metric, week, value)
      values (${orgId}, ${channelId}, 'views', ${daysAgo(monday)}, 70)`;
    told.series = () => [
      { metric: 'views', points: [7, 6, 5, 4, 3, 2, 1].map((ago) => ({ date: daysAgo(ago), value: 8 })) },
    ];
    await collectAll(world);
    const open = [7, 6, 5, 4, 3, 2, 1].filter((ago) => ago > monday).map(daysAgo);
    expect(Object.keys((await daysOf(db.sql, channelId))['views'] ?? {})).toEqual(open);
    await rollUp();
    expect(await weeksOf(channelId)).toMatchObject([{ value: 70 }]);
  });

  test('of a week that was rolled up are told by day where no interval is: no day is as great as the week [S182]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const monday = oldMonday(14);
    await db.sql`
      insert into analytics_weeks (org_id, channel_id, metric, week, value)
      values (${orgId}, ${channelId}, 'views', ${daysAgo(monday)}, 10),
        (${orgId}, ${channelId}, 'followers', ${daysAgo(monday)}, 90)`;
    await seedDays(db.sql, { orgId, channelId, values: { [monday - 7]: 2 } });
    const ofWeek = Array.from({ length: 7 }, (_, n) => ({ date: daysAgo(monday - n), value: 1.43 }));
    expect(await world.analytics.getChannelNumbers(orgId, channelId, monday)).toMatchObject([
      { metric: 'views', data: [...ofWeek, { date: daysAgo(monday - 7), value: 2 }] },
      { metric: 'followers', data: [{ date: daysAgo(monday), value: 90 }] },
    ]);
  });

  test('take gaps, anomalies and finished runs with them', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    for (const ago of [549, 547]) {
      const date = daysAgo(ago);
      await db.sql`
        insert into analytics_gaps (org_id, channel_id, date, reason) values (${orgId}, ${channelId}, ${date}, 'x')`;
      await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${date}, now())`;
      await db.sql`
        insert into analytics_anomalies (org_id, channel_id, metric, date, direction, value, baseline, deviation)
        values (${orgId}, ${channelId}, 'views', ${date}, 'drop', 1, 1, -4)`;
    }
    await rollUp();
    const left = await db.sql`
      select date::text as date from analytics_gaps union all select day::text from analytics_runs
      union all select date::text from analytics_anomalies`;
    expect(left.map(({ date }) => date)).toEqual([daysAgo(547), daysAgo(547), daysAgo(547)]);
  });
});

test('days of posts are deleted behind ANALYTICS_POST_RETENTION_DAYS, 90 unless set [RT4]', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const postId = await seedPost(db.sql, { orgId, channelId, ago: 100 });
  const kept = async () =>
    (await db.sql`select date::text as date from analytics_post_days order by date desc`).map(({ date }) => date);
  await seedCounts(db.sql, { orgId, channelId, postId }, { 91: { likes: 1 }, 90: { likes: 1 }, 11: {}, 9: {} });
  await world.analytics.dropPostDays(500);
  expect(await kept()).toEqual([9, 11, 90].map(daysAgo));
  await using short = await openPublishing({
    url: db.url,
    engine: noEngine,
    network,
    env: { ANALYTICS_POST_RETENTION_DAYS: '10' },
  });
  await short.analytics.dropPostDays(500);
  expect(await kept()).toEqual([daysAgo(9)]);
});
