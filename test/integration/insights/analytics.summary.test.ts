import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { emptyTables, testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { analyticsFacts, daysAgo, seedDays } from '../../support/worlds/analytics.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { openNetwork, openPublishing, seedOrg } from '../../support/worlds/publishing/world.ts';

// The summary of a week, told once on Mondays.

let db: TestDatabase;
let world: Awaited<ReturnType<typeof openPublishing>>;
beforeAll(async () => {
  db = await testDatabase();
  world = await openPublishing({ url: db.url, engine: noEngine, network: openNetwork() });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => emptyTables(db.sql, 'organizations', 'outbox'));

const range = (from: number, to: number, value: number) =>
  Object.fromEntries(Array.from({ length: from - to + 1 }, (_, n) => [from - n, value]));
const plan = () => db.sql`
  select summary_at > now() and summary_at <= now() + interval '8 days' as ahead, summary_zone as zone
  from analytics_schedules`;
/** A Monday has come since the last summary. */
const weekEnds = () => db.sql`update analytics_schedules set summary_at = now(), summary_for = summary_for - 7`;

test('a week is told when it ends, with the sums of its metrics over all channels beside those of the week before', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  for (const channelId of channelIds) {
    await seedDays(db.sql, { orgId, channelId, values: { ...range(14, 8, 1), ...range(7, 1, 2) } });
    await seedDays(db.sql, { orgId, channelId, metric: 'followers', values: { 9: 40, 3: 45 } });
  }
  await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${daysAgo(1)}, now())`;
  await world.analytics.keepSchedules(500);
  expect(await world.analytics.tellWeeks(500)).toBe(1);
  expect(await analyticsFacts(db.sql, orgId)).toEqual([]); // no week ended while it was looked at
  expect(await plan()).toEqual([{ ahead: true, zone: 'UTC' }]);

  await weekEnds();
  expect(await world.analytics.tellWeeks(500)).toBe(1);
  const told = {
    topic: 'analytics.week_summed',
    entityId: orgId,
    payload: {
      from: daysAgo(7),
      to: daysAgo(1),
      channels: 2,
      metrics: [
        { metric: 'views', value: 28, previous: 14 },
        { metric: 'followers', value: 90, previous: 80 },
      ],
    },
  };
  expect(await analyticsFacts(db.sql, orgId)).toEqual([told]);
  await db.sql`update analytics_schedules set summary_at = now()`;
  await Promise.all([world.analytics.tellWeeks(500), world.analytics.tellWeeks(500)]);
  expect(await analyticsFacts(db.sql, orgId)).toEqual([told]); // that Monday is done
});

test('a channel that was not read in one of the weeks is neither a fall nor a rise of followers, and all are counted', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 4);
  const [both, silent, fresh, other] = channelIds as [string, string, string, string];
  const followers = (channelId: string, values: Record<number, number>) =>
    seedDays(db.sql, { orgId, channelId, metric: 'followers', values });
  await followers(both, { 9: 1_000, 2: 1_010 });
  await followers(silent, { 9: 5_000 });
  await followers(fresh, { 2: 70 });
  await seedDays(db.sql, { orgId, channelId: other, values: { 2: 3 } });
  await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${daysAgo(1)}, now())`;
  await world.analytics.keepSchedules(500);
  await world.analytics.tellWeeks(500);
  await weekEnds();
  await world.analytics.tellWeeks(500);
  const metrics = [
    { metric: 'views', value: 3, compared: 0, previous: 0 },
    { metric: 'followers', value: 1_010, previous: 1_000 },
  ];
  expect(await analyticsFacts(db.sql, orgId)).toMatchObject([{ payload: { channels: 4, metrics } }]);
});

test('a week whose last days are not told yet is held against the same days of the week before', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [late, silent] = channelIds as [string, string];
  await seedDays(db.sql, { orgId, channelId: late, values: range(14, 3, 100) });
  await seedDays(db.sql, { orgId, channelId: silent, values: range(14, 8, 100) });
  await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${daysAgo(1)}, now())`;
  await world.analytics.keepSchedules(500);
  await world.analytics.tellWeeks(500);
  await weekEnds();
  await world.analytics.tellWeeks(500);
  const metrics = [{ metric: 'views', value: 500, previous: 500 }];
  expect(await analyticsFacts(db.sql, orgId)).toMatchObject([{ payload: { metrics } }]);
});

test('days and channels that the week before does not know are no rise: what both weeks know is compared', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [missed, fresh] = channelIds as [string, string];
  await seedDays(db.sql, { orgId, channelId: missed, values: { ...range(14, 12, 90), ...range(7, 1, 100) } });
  await seedDays(db.sql, { orgId, channelId: fresh, values: range(7, 1, 5) });
  await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${daysAgo(1)}, now())`;
  await world.analytics.keepSchedules(500);
  await world.analytics.tellWeeks(500);
  await weekEnds();
  await world.analytics.tellWeeks(500);
  const metrics = [{ metric: 'views', value: 735, compared: 300, previous: 270 }];
  expect(await analyticsFacts(db.sql, orgId)).toMatchObject([{ payload: { metrics } }]);
});

test('a week without numbers, and one whose numbers are old, are not told', async () => {
  const [none, old] = [await seedOrg(db.sql), await seedOrg(db.sql)];
  await seedDays(db.sql, { orgId: old.orgId, channelId: old.channelId, values: range(20, 6, 5) });
  await db.sql`
    insert into analytics_runs (org_id, day, completed_at)
    values (${none.orgId}, ${daysAgo(1)}, now()), (${old.orgId}, ${daysAgo(6)}, now())`;
  await world.analytics.keepSchedules(500);
  await world.analytics.tellWeeks(500);
  await weekEnds();
  expect(await world.analytics.tellWeeks(500)).toBe(2);
  expect(await db.sql`select from outbox`).toEqual([]);
});

test('another zone of the organization plans the next summary anew, and brings no second one', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  await seedDays(db.sql, { orgId, channelId, values: range(7, 1, 5) });
  await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${daysAgo(1)}, now())`;
  await world.analytics.keepSchedules(500);
  await world.analytics.tellWeeks(500);
  await db.sql`update analytics_schedules set summary_for = summary_for + 7`; // of a zone that is ahead
  await db.sql`update organizations set timezone = 'Pacific/Honolulu'`;
  await world.analytics.keepSchedules(500);
  expect(await world.analytics.tellWeeks(500)).toBe(1);
  expect(await plan()).toEqual([{ ahead: true, zone: 'Pacific/Honolulu' }]);
  expect(await analyticsFacts(db.sql, orgId)).toEqual([]);
  expect(await world.analytics.tellWeeks(500)).toBe(0);
});

test('the week of an organization that cannot be told holds up no other', async () => {
  const orgs = [await seedOrg(db.sql), await seedOrg(db.sql)];
  for (const { orgId, channelId } of orgs) {
    await seedDays(db.sql, { orgId, channelId, values: range(7, 1, 5) });
    await db.sql`insert into analytics_runs (org_id, day, completed_at) values (${orgId}, ${daysAgo(1)}, now())`;
  }
  await world.analytics.keepSchedules(500);
  await world.analytics.tellWeeks(500);
  await weekEnds();
  const [bad, good] = orgs.map(({ orgId }) => orgId) as [string, string];
  await db.sql`update analytics_schedules set summary_at = now() - interval '1 hour' where org_id = ${bad}`;
  {
    await using _refused = await refuseRows(db.sql, 'insert', 'outbox', `new.org_id = '${bad}'`);
    expect(await world.analytics.tellWeeks(1)).toBe(1); // the bad one comes first
    expect([await analyticsFacts(db.sql, bad), await analyticsFacts(db.sql, good)]).toMatchObject([[], [{}]]);
  }
  expect(await world.analytics.tellWeeks(1)).toBe(1);
  expect(await analyticsFacts(db.sql, bad)).toHaveLength(1);
});
