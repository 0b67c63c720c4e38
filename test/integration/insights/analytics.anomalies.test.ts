import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { facts } from '../../../src/platform/outbox/facts.ts';
import { emptyTables, testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  analyticsFacts,
  collectAll,
  daysAgo,
  numbersOf,
  seedCounts,
  seedDays,
  seedPost,
} from '../../support/worlds/analytics.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { openNetwork, openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// What stands out of a collected day, as the product finds and announces it.

let db: TestDatabase;
const network = openNetwork();
let told: ReturnType<typeof numbersOf>;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await emptyTables(db.sql, 'organizations', 'outbox');
  told = numbersOf(network);
});

const YESTERDAY = daysAgo(1);
/** 28 days before yesterday of so much. */
const usual = (value: number) => Object.fromEntries(Array.from({ length: 28 }, (_, n) => [n + 2, value]));
const yesterday = (metric: string, value: number) => ({ metric, points: [{ date: YESTERDAY, value }] });
/** Collects as a product with these settings. */
async function collectWith(env: Record<string, string> = {}): Promise<void> {
  await using world = await openPublishing({ url: db.url, engine: noEngine, network, env });
  await collectAll(world);
}
const anomaliesOf = async (orgId: string) =>
  (await analyticsFacts(db.sql, orgId)).flatMap(({ topic, payload }) =>
    topic === 'analytics.anomaly_detected' ? [facts['analytics.anomaly_detected'].parse(payload).anomalies] : [],
  );

describe('ANALYTICS_ANOMALY_Z', () => {
  test('is the deviation from which a value is an anomaly, 3 unless set [AN1]', async () => {
    const detected = async (env: Record<string, string>) => {
      const { orgId, channelId } = await seedOrg(db.sql);
      await seedDays(db.sql, { orgId, channelId, values: usual(100) });
      told.series = () => [yesterday('views', 135)]; // 3.5 times the root of the mean
      await collectWith(env);
      const [found = []] = await anomaliesOf(orgId);
      await db.sql`update channels set disabled = true`;
      return found.map(({ metric, deviation }) => [metric, deviation]);
    };
    expect(await detected({})).toEqual([['views', 3.5]]);
    expect(await detected({ ANALYTICS_ANOMALY_Z: '4' })).toEqual([]);
    expect(await detected({ ANALYTICS_ANOMALY_Z: '3.4' })).toEqual([['views', 3.5]]);
  });
});

describe('one fact of an organization and day', () => {
  test('has all its anomalies, the farthest out first, with the post that a quarter of the day is due to', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 2);
    const [first, second] = channelIds as [string, string];
    const [top, other] = [
      await seedPost(db.sql, { orgId, channelId: first, ago: 5 }),
      await seedPost(db.sql, { orgId, channelId: first, ago: 6 }),
    ];
    for (const postId of [top, other])
      await seedCounts(db.sql, { orgId, channelId: first, postId }, { 2: { views: 10 } });
    await seedDays(db.sql, { orgId, channelId: first, values: usual(100) });
    await seedDays(db.sql, { orgId, channelId: second, values: usual(400) });
    await seedDays(db.sql, { orgId, channelId: second, metric: 'followers', values: usual(50) });
    told.counts = (release) => ({ views: release === `r-${top}` ? 160 : 100 });
    told.series = ({ account }) =>
      account === first
        ? [yesterday('views', 500)]
        : [yesterday('views', 0), { metric: 'followers', points: [{ date: daysAgo(0), value: 80 }] }];
    await collectWith();
    const common = { integrationName: 'Channel', date: YESTERDAY, topPostId: null };
    expect(await anomaliesOf(orgId)).toEqual([
      [
        {
          ...common,
          integrationId: first,
          metric: 'views',
          direction: 'spike',
          value: 500,
          baseline: 100,
          deviation: 40,
          topPostId: top,
        },
        {
          ...common,
          integrationId: second,
          metric: 'followers',
          direction: 'spike',
          value: 30,
          baseline: 0,
          deviation: 30,
        },
        {
          ...common,
          integrationId: second,
          metric: 'views',
          direction: 'drop',
          value: 0,
          baseline: 400,
          deviation: -20,
        },
      ],
    ]);
    const kinds = (await analyticsFacts(db.sql, orgId)).map(({ topic, entityId }) => [topic, entityId]);
    expect(kinds).toEqual([
      ['analytics.snapshot_complete', orgId],
      ['analytics.anomaly_detected', orgId],
    ]);
  });

  test('has a day that its network tells late, once, and none of a day that was told before', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const values = Object.fromEntries(Object.entries(usual(100)).filter(([ago]) => Number(ago) > 3));
    await seedDays(db.sql, { orgId, channelId, values });
    const late = { metric: 'views', points: [3, 2].map((ago) => ({ date: daysAgo(ago), value: 900 })) };
    told.series = () => [late];
    await collectWith();
    expect(await anomaliesOf(orgId)).toMatchObject([[{ date: daysAgo(3), value: 900 }]]); // the next is within its rest
    await db.sql`delete from analytics_runs`;
    told.series = () => [late, yesterday('likes', 5)];
    await collectWith();
    expect(await anomaliesOf(orgId)).toHaveLength(1);
  });

  test('has no late day whose rest another anomaly has taken meanwhile [AN2]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await seedDays(db.sql, { orgId, channelId, values: { ...usual(100), 3: 900 } });
    await db.sql`
      insert into analytics_anomalies (org_id, channel_id, metric, date, direction, value, baseline, deviation)
      values (${orgId}, ${channelId}, 'views', ${daysAgo(2)}, 'spike', 1, 1, 4)`;
    told.series = () => [yesterday('views', 100)];
    await collectWith();
    expect(await anomaliesOf(orgId)).toEqual([]);
    await db.sql`update analytics_anomalies set metric = 'reach'`;
    await db.sql`delete from analytics_runs`;
    await collectWith();
    expect(await anomaliesOf(orgId)).toMatchObject([[{ date: daysAgo(3) }]]);
  });

  test('names no post of which less than a quarter comes', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const postId = await seedPost(db.sql, { orgId, channelId, ago: 5 });
    await seedCounts(db.sql, { orgId, channelId, postId }, { 2: { views: 10 } });
    await seedDays(db.sql, { orgId, channelId, values: usual(100) });
    told.counts = () => ({ views: 109 });
    told.series = () => [yesterday('views', 400)];
    await collectWith();
    expect((await anomaliesOf(orgId))[0]).toMatchObject([{ metric: 'views', topPostId: null }]);
  });

  test('is not told of a derived value behind a gap, which is that of several days', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const postId = await seedPost(db.sql, { orgId, channelId, ago: 9 });
    await seedCounts(db.sql, { orgId, channelId, postId }, { 3: { likes: 10 } });
    await seedDays(db.sql, { orgId, channelId, metric: 'likes', values: usual(10), derived: true });
    await db.sql`
      insert into analytics_gaps (org_id, channel_id, date, reason)
      values (${orgId}, ${channelId}, ${daysAgo(2)}, 'away')`;
    told.counts = () => ({ likes: 500 });
    await collectWith();
    expect(await anomaliesOf(orgId)).toEqual([]);
  });

  test('is not told of a derived value behind days in which nobody asked for the channel [AN1]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const postId = await seedPost(db.sql, { orgId, channelId, ago: 20 });
    // it was disabled, or deleted, for eight days: no run had it, so none noted a gap
    const known = Object.fromEntries(Object.entries(usual(10)).filter(([ago]) => Number(ago) > 9));
    await seedDays(db.sql, { orgId, channelId, metric: 'likes', values: known, derived: true });
    await seedCounts(db.sql, { orgId, channelId, postId }, { 10: { likes: 100 } });
    told.counts = () => ({ likes: 190 });
    await collectWith();
    expect(
      await db.sql`select value from analytics_days where channel_id = ${channelId} and date = ${YESTERDAY}`,
    ).toEqual([{ value: 90 }]);
    expect(await anomaliesOf(orgId)).toEqual([]);
  });

  test('has a derived value of posts of that day alone, however long nothing was published before', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const known = Object.fromEntries(Object.entries(usual(10)).filter(([ago]) => Number(ago) > 9));
    const old = await seedPost(db.sql, { orgId, channelId, ago: 45 });
    await seedDays(db.sql, { orgId, channelId, metric: 'likes', values: known, derived: true });
    await seedCounts(db.sql, { orgId, channelId, postId: old }, { 16: { likes: 100 } });
    await seedPost(db.sql, { orgId, channelId, ago: 1 });
    told.counts = () => ({ likes: 90 });
    await collectWith();
    expect(await anomaliesOf(orgId)).toMatchObject([[{ metric: 'likes', value: 90 }]]);
  });
});

describe('ANALYTICS_ANOMALY_COOLDOWN_DAYS', () => {
  test('keeps an anomaly of the same channel and metric from being told again, for 3 days unless set [AN2]', async () => {
    const detected = async (ago: number, env: Record<string, string> = {}) => {
      const { orgId, channelIds } = await seedOrg(db.sql, 2);
      for (const channelId of channelIds) await seedDays(db.sql, { orgId, channelId, values: usual(100) });
      await db.sql`
        insert into analytics_anomalies (org_id, channel_id, metric, date, direction, value, baseline, deviation)
        values (${orgId}, ${channelIds[0]!}, 'views', ${daysAgo(ago)}, 'spike', 1, 1, 4),
          (${orgId}, ${channelIds[0]!}, 'reach', ${daysAgo(2)}, 'spike', 1, 1, 4)`;
      told.series = () => [yesterday('views', 900)];
      await collectWith(env);
      await db.sql`update channels set disabled = true`;
      return (await anomaliesOf(orgId))[0]?.length;
    };
    expect([await detected(2), await detected(4), await detected(5)]).toEqual([1, 1, 2]);
    expect(await detected(2, { ANALYTICS_ANOMALY_COOLDOWN_DAYS: '0' })).toBe(2);
    expect(await detected(5, { ANALYTICS_ANOMALY_COOLDOWN_DAYS: '4' })).toBe(1);
  });

  test('counts what was told, so that a level that stays is told once', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    await seedDays(db.sql, { orgId, channelId, values: usual(100) });
    told.series = () => [yesterday('views', 900)];
    await collectWith();
    await db.sql`update analytics_runs set day = day - 1`;
    await db.sql`update analytics_anomalies set date = date - 1`;
    await collectWith();
    expect(await anomaliesOf(orgId)).toHaveLength(1);
  });
});
