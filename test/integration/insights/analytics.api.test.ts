import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { daysAgo, seedChannel, seedCounts, seedDays, seedPost } from '../../support/worlds/analytics.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';

// The numbers of channels and posts as clients read them, from what was collected.

let db: TestDatabase;
let app: TestApp;
let ann: SignedUp;
let key: Client;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  await app.signUp(); // the super-admin
  ann = await app.signUp();
  key = await ann.withKey();
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const channelOf = ({ orgId }: { orgId: string } = ann, name?: string) => seedChannel(db.sql, orgId, name);
const byAgo = (from: number, to: number, value: (ago: number) => number) =>
  Object.fromEntries(Array.from({ length: from - to + 1 }, (_, n) => [from - n, value(from - n)]));
const days = (from: number, to: number) =>
  Object.keys(byAgo(from, to, () => 0))
    .map(Number)
    .toSorted((a, b) => b - a)
    .map(daysAgo);

describe('the numbers of a channel', () => {
  let channelId: string;
  beforeAll(async () => {
    channelId = await channelOf();
    const { orgId } = ann;
    await seedDays(db.sql, { orgId, channelId, values: byAgo(14, 1, (ago) => (ago > 7 ? 10 : 12)) });
    await seedDays(db.sql, { orgId, channelId, metric: 'followers', values: { 8: 100, 7: 110, 1: 125 } });
    await seedDays(db.sql, { orgId, channelId, metric: 'likes', values: { 1: 0 }, derived: true });
  });

  test('are those of seven whole days unless said, totals as strings, beside the days before [S182]', async () => {
    const { status, body } = await ann.client.get(`/analytics/${channelId}`);
    expect([status, body]).toEqual([
      200,
      [
        { label: 'Views', data: days(7, 1).map((date) => ({ total: '12', date })), percentageChange: 20 },
        { label: 'Likes', data: [{ total: '0', date: daysAgo(1) }], percentageChange: 0 },
        {
          label: 'Followers',
          data: [
            { total: '110', date: daysAgo(7) },
            { total: '125', date: daysAgo(1) },
          ],
          percentageChange: 25,
        },
      ],
    ]);
    expect((await ann.client.get(`/analytics/${channelId}?date=1`)).body[0].data).toHaveLength(1);
  });

  test('change by the days that both times know: a day that is missing is no fall, a first day no rise [S182]', async () => {
    const [late, fresh] = [await channelOf(), await channelOf()];
    const { orgId } = ann;
    await seedDays(db.sql, { orgId, channelId: late, values: byAgo(20, 2, () => 100) }); // yesterday is not read yet
    await seedDays(db.sql, { orgId, channelId: fresh, values: byAgo(10, 1, () => 100) });
    const change = async (id: string, date: number) =>
      (await ann.client.get(`/analytics/${id}?date=${date}`)).body[0].percentageChange;
    expect([await change(late, 7), await change(late, 2), await change(fresh, 7)]).toEqual([0, 0, 0]);
    await db.sql`update analytics_days set value = 150 where channel_id = ${fresh} and date = ${daysAgo(2)}`;
    expect(await change(fresh, 7)).toBe(16.7); // 350 of the last three days, 300 of those a week before
  });

  test('are the same in the public dialect, where the number of days may be in quotes [S185, PA2, T12]', async () => {
    const { body } = await ann.client.get(`/analytics/${channelId}?date=3`);
    for (const date of ['3', '"3"', '%223%22'])
      expect((await key.get(`/public/v1/analytics/${channelId}?date=${date}`)).body).toEqual(body);
    expect((await key.get(`/public/v1/analytics/${channelId}`)).body[0].data).toHaveLength(7);
    expect(typeof body[0].data[0].total).toBe('string');
  });

  test('of a channel without any are an empty list; one that is deleted, or another’s, is not found', async () => {
    expect((await ann.client.get(`/analytics/${await channelOf()}`)).body).toEqual([]);
    const gone = await channelOf();
    await db.sql`update channels set deleted_at = now() where id = ${gone}`;
    const bob = await app.signUp();
    for (const [client, id] of [
      [ann.client, gone],
      [ann.client, newId()],
      [bob.client, channelId],
    ] as const) {
      const answer = await client.get(`/analytics/${id}`);
      expect([answer.status, answer.body.message]).toEqual([404, 'Integration not found']);
      expect((await client.get(`/analytics/channels/${id}/history`)).status).toBe(404);
      expect((await client.get(`/analytics/best-times/${id}`)).status).toBe(404);
    }
  });

  test.each(['0', '549', '-1', '1.5', 'week', '', '1e3'])('are refused for %p days', async (date) => {
    const { status, body } = await key.get(`/public/v1/analytics/${channelId}?date=${date}`);
    expect([status, body.errors?.[0]?.field]).toEqual([400, 'date']);
  });
});

describe('the numbers of a post', () => {
  test('are its totals by day, and missing where nobody knows its release [S183]', async () => {
    const channelId = await channelOf();
    const { orgId } = ann;
    const postId = await seedPost(db.sql, { orgId, channelId, ago: 20 });
    await seedCounts(
      db.sql,
      { orgId, channelId, postId },
      { 8: { likes: 4 }, 2: { likes: 5, views: 90 }, 1: { likes: 6, views: 100 } },
    );
    const expected = [
      {
        label: 'Views',
        data: [
          { total: '90', date: daysAgo(2) },
          { total: '100', date: daysAgo(1) },
        ],
        percentageChange: 0,
      },
      {
        label: 'Likes',
        data: [
          { total: '5', date: daysAgo(2) },
          { total: '6', date: daysAgo(1) },
        ],
        percentageChange: 50,
      },
    ];
    expect((await ann.client.get(`/analytics/post/${postId}`)).body).toEqual(expected);
    expect((await key.get(`/public/v1/analytics/post/${postId}?date=7`)).body).toEqual(expected);
    const unknown = await seedPost(db.sql, { orgId, channelId, ago: 1, release: null });
    expect((await key.get(`/public/v1/analytics/post/${unknown}`)).body).toEqual({ missing: true });
    const bare = await seedPost(db.sql, { orgId, channelId, ago: 1 });
    expect((await key.get(`/public/v1/analytics/post/${bare}`)).body).toEqual([]);
    expect((await (await app.signUp()).client.get(`/analytics/post/${postId}`)).status).toBe(404);
    await db.sql`update posts set deleted_at = now() where id = ${postId}`;
    expect((await key.get(`/public/v1/analytics/post/${postId}`)).status).toBe(404);
  });

  test('order the list of posts by each metric and by time, page by page [S184]', async () => {
    const bob = await app.signUp();
    const { orgId } = bob;
    const channelId = await channelOf(bob);
    const ids: string[] = [];
    for (const [n, likes] of [3, 9, 1, 9].entries()) {
      const postId = await seedPost(db.sql, { orgId, channelId, ago: 10 + n });
      ids.push(postId);
      await seedCounts(db.sql, { orgId, channelId, postId }, { 2: { likes: 100 }, 1: { likes } });
    }
    ids.push(await seedPost(db.sql, { orgId, channelId, ago: 20 })); // without numbers yet
    const pages = async (sort: string) => {
      const found: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await bob.client.get(`/analytics/posts?sort=${sort}&limit=2${cursor}`);
        found.push(...body.items.map(({ id }: { id: string }) => id));
        if (body.nextCursor === null) return found;
        cursor = `&cursor=${body.nextCursor}`;
      }
    };
    expect(await pages('publishedAt')).toEqual(ids);
    expect(await pages('likes')).toEqual([...[ids[1]!, ids[3]!].toSorted().toReversed(), ids[0], ids[2], ids[4]]);
    const { body } = await bob.client.get('/analytics/posts?sort=likes&limit=1');
    expect(body.items[0]).toEqual({
      id: expect.any(String),
      integrationId: channelId,
      publishedAt: expect.stringMatching(/T12:00:00\.000Z$/),
      releaseURL: expect.stringContaining('https://fake.example/'),
      date: daysAgo(1),
      metrics: { likes: 9 },
    });
    expect((await ann.client.get(`/analytics/posts?sort=likes&cursor=${'x'.repeat(20)}`)).status).toBe(400);
  });
});

describe('the history of a channel', () => {
  test('has values by metric and date, what is derived, and the days that could not be read as gaps [S184]', async () => {
    const channelId = await channelOf();
    const { orgId } = ann;
    await seedDays(db.sql, { orgId, channelId, values: { 5: 1, 3: 2 } });
    await seedDays(db.sql, { orgId, channelId, metric: 'likes', values: { 3: 4 }, derived: true });
    for (const ago of [4, 3])
      await db.sql`
        insert into analytics_gaps (org_id, channel_id, date, reason)
        values (${orgId}, ${channelId}, ${daysAgo(ago)}, 'The network is away')`;
    const path = `/analytics/channels/${channelId}/history?from=${daysAgo(5)}&to=${daysAgo(1)}`;
    const point = (metric: string, ago: number, value: number, derived = false) => ({
      date: daysAgo(ago),
      metric,
      value,
      derived,
      interval: 'day',
    });
    expect((await ann.client.get(path)).body).toEqual({
      items: [point('likes', 3, 4, true), point('views', 5, 1), point('views', 3, 2)],
      gaps: [{ date: daysAgo(4), reason: 'The network is away' }], // the third was told later
      from: daysAgo(5),
      to: daysAgo(1),
    });
    const views = await key.get(
      `/public/v1/analytics/${channelId}/history?from=${daysAgo(5)}&to=${daysAgo(1)}&metric=views`,
    );
    expect(views.body.items).toEqual([point('views', 5, 1), point('views', 3, 2)]);
  });

  test('adds flows up by ISO week and takes the latest of stocks, over days and weeks that were rolled up', async () => {
    const channelId = await channelOf();
    const { orgId } = ann;
    // two whole weeks, from Monday to Sunday, however long ago they are
    const monday = 21 + ((new Date().getUTCDay() + 6) % 7);
    await seedDays(db.sql, { orgId, channelId, values: byAgo(monday - 7, monday - 13, () => 2) });
    await seedDays(db.sql, {
      orgId,
      channelId,
      metric: 'followers',
      values: byAgo(monday - 7, monday - 13, (ago) => 1_000 - ago),
    });
    await db.sql`
      insert into analytics_weeks (org_id, channel_id, metric, week, value)
      values (${orgId}, ${channelId}, 'views', ${daysAgo(monday)}, 70)`;
    const at = `/analytics/channels/${channelId}/history?from=${daysAgo(monday)}`;
    const { items } = (await ann.client.get(`${at}&interval=week`)).body;
    expect(items.map(({ metric, date, value }: Record<string, unknown>) => [metric, date, value])).toEqual([
      ['followers', daysAgo(monday - 7), 1_000 - (monday - 13)],
      ['views', daysAgo(monday), 70],
      ['views', daysAgo(monday - 7), 14],
    ]);
    const byDay = (await ann.client.get(`${at}&metric=views`)).body.items;
    expect(byDay.map(({ interval }: { interval: string }) => interval)).toEqual(['week', ...byAgoDays('day', 7)]);
  });
  test('by week has whole weeks, also where the range begins or ends within one', async () => {
    const channelId = await channelOf();
    const monday = 21 + ((new Date().getUTCDay() + 6) % 7);
    await seedDays(db.sql, { orgId: ann.orgId, channelId, values: byAgo(monday, 1, () => 2) });
    const asked = `from=${daysAgo(monday - 2)}&to=${daysAgo(monday - 9)}&interval=week`; // Wednesdays
    const { items, from, to } = (await ann.client.get(`/analytics/channels/${channelId}/history?${asked}`)).body;
    expect([from, to]).toEqual([daysAgo(monday), daysAgo(monday - 13)]);
    expect(items.map(({ date, value }: Record<string, unknown>) => [date, value])).toEqual([
      [daysAgo(monday), 14],
      [daysAgo(monday - 7), 14],
    ]);
  });
  const byAgoDays = (name: string, count: number) => Array.from({ length: count }, () => name);

  test.each([
    ['from=2026-02-02&to=2026-02-01', 'to'],
    ['from=1990-01-01&to=2026-02-01', 'to'],
    ['from=2026-02-30', 'from'],
    ['to=tomorrow', 'to'],
    ['to=0000-01-01', 'to'], // thirty days before it have no date
    ['from=0000-01-01&to=0000-01-02', 'from'],
    ['from=8999-12-31&to=1970-01-01', 'to'],
    ['to=9999-12-31', 'to'], // the day after it has five digits, and sorts before it
    ['metric=karma', 'metric'],
    ['interval=year', 'interval'],
  ])('is refused for %s, naming %s', async (query, field) => {
    const { status, body } = await ann.client.get(`/analytics/channels/${await channelOf()}/history?${query}`);
    expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
  });
});

describe('the overview', () => {
  test('has each channel with its metrics over a range and over the time before [S184]', async () => {
    const bob = await app.signUp();
    const { orgId } = bob;
    const [first, second] = [await channelOf(bob), await channelOf(bob)];
    await seedDays(db.sql, { orgId, channelId: first, values: byAgo(20, 1, (ago) => (ago > 10 ? 1 : 2)) });
    await seedDays(db.sql, { orgId, channelId: first, metric: 'followers', values: { 15: 50, 5: 60, 4: 61 } });
    await db.sql`
      insert into analytics_weeks (org_id, channel_id, metric, week, value)
      values (${orgId}, ${second}, 'views', ${daysAgo(9)}, 30)`;
    expect((await bob.client.get(`/analytics/overview?from=${daysAgo(10)}&to=${daysAgo(1)}`)).body).toEqual({
      channels: [
        {
          integrationId: first,
          metrics: { views: { value: 20, previous: 10 }, followers: { value: 61, previous: 50 } },
        },
        { integrationId: second, metrics: { views: { value: 30, previous: null } } },
      ],
    });
    expect((await (await app.signUp()).client.get('/analytics/overview')).body).toEqual({ channels: [] });
  });

  test('holds the same days of both times against each other, and has nothing before where one is missing', async () => {
    const bob = await app.signUp();
    const { orgId } = bob;
    const late = await channelOf(bob);
    await seedDays(db.sql, { orgId, channelId: late, values: byAgo(14, 2, () => 100) }); // yesterday is not read yet
    await seedDays(db.sql, { orgId, channelId: late, metric: 'likes', values: byAgo(10, 1, () => 5) });
    const { channels } = (await bob.client.get(`/analytics/overview?from=${daysAgo(7)}&to=${daysAgo(1)}`)).body;
    expect(channels[0].metrics).toEqual({
      likes: { value: 35, previous: null },
      views: { value: 600, previous: 600 },
    });
  });

  test('takes of a week that was rolled up the days of the range', async () => {
    const bob = await app.signUp();
    const { orgId } = bob;
    const channelId = await channelOf(bob);
    const monday = 21 + ((new Date().getUTCDay() + 6) % 7);
    await db.sql`
      insert into analytics_weeks (org_id, channel_id, metric, week, value)
      values (${orgId}, ${channelId}, 'views', ${daysAgo(monday)}, 10),
        (${orgId}, ${channelId}, 'followers', ${daysAgo(monday)}, 90)`;
    await seedDays(db.sql, { orgId, channelId, values: byAgo(monday - 7, monday - 13, () => 2) });
    const over = async (from: number, to: number) =>
      (await bob.client.get(`/analytics/overview?from=${daysAgo(from)}&to=${daysAgo(to)}`)).body.channels[0].metrics;
    expect(await over(monday - 7, monday - 13)).toEqual({ views: { value: 14, previous: 10 } });
    // from Wednesday to Sunday; before it lie Friday to Sunday of the week, and two days
    expect((await over(monday - 9, monday - 13)).views).toEqual({ value: 10, previous: 8.29 });
    expect((await over(monday - 1, monday - 9)).views.value).toBe(14.57);
    expect((await over(monday - 1, monday - 9)).followers).toEqual({ value: 90, previous: 90 });
  });
});

test('best hours are those of posts with numbers, in the zone of the organization [S184]', async () => {
  const bob = await app.signUp();
  const { orgId } = bob;
  const channelId = await channelOf(bob);
  await db.sql`update organizations set timezone = 'Asia/Tokyo' where id = ${orgId}`;
  for (let n = 0; n < 20; n++) {
    const postId = await seedPost(db.sql, { orgId, channelId, ago: 1 + n });
    await seedCounts(db.sql, { orgId, channelId, postId }, { 1: { likes: n % 7 === 0 ? 50 : 1, views: 9_000 } });
  }
  const { body } = await bob.client.get(`/analytics/best-times/${channelId}`);
  expect(body).toHaveLength(7);
  const best = new Date(`${daysAgo(1)}T12:00:00Z`).getUTCDay(); // noon in UTC is 21:00 of the same day in Tokyo
  expect(body[0]).toEqual({ weekday: best === 0 ? 7 : best, hour: 21, score: 100 });
  await db.sql`update posts set deleted_at = now() where id = (select id from posts where org_id = ${orgId} limit 1)`;
  expect((await bob.client.get(`/analytics/best-times/${channelId}`)).body).toEqual([]);
});

describe('the export', () => {
  test('is a CSV of every channel without a formula, read piece by piece [S184]', async () => {
    const bob = await app.signUp();
    const { orgId } = bob;
    const channelId = await channelOf(bob, '=HYPERLINK("https://evil.example")');
    const rest = await channelOf(bob, 'Plain, "quoted"');
    await db.sql`
      insert into analytics_weeks (org_id, channel_id, metric, week, value)
      values (${orgId}, ${rest}, 'views', ${daysAgo(9)}, 30.5)`;
    await db.sql`
      insert into analytics_days (org_id, channel_id, metric, date, value)
      select ${orgId}::uuid, ${channelId}::uuid, m, ${daysAgo(29)}::date + d, d
      from generate_series(0, 28) d, unnest('{views,likes,reach}'::text[]) m
      union all
      select ${orgId}::uuid, ${rest}::uuid, 'metric-' || n, ${daysAgo(2)}::date, n from generate_series(1, 2000) n
      union all
      select ${orgId}::uuid, ${channelId}::uuid, 'odd "one"', ${daysAgo(2)}::date, -4`;
    const answer = await bob.client.get('/analytics/export.csv');
    expect(answer.headers.get('content-type')).toContain('text/csv');
    const [head, ...lines] = answer.text.trimEnd().split('\r\n');
    expect(head).toBe('"date","interval","integrationId","integrationName","provider","metric","value","derived"');
    expect(lines).toHaveLength(1 + 29 * 3 + 2_000 + 1);
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines[0]).toBe(`"${daysAgo(9)}","week","${rest}","Plain, ""quoted""","sandbox","views","30.5","false"`);
    expect(lines.some((line) => line.includes(`"'=HYPERLINK(""https://evil.example"")"`))).toBe(true);
    expect(answer.text).toContain(`,"odd ""one""","'-4","false"\r\n`);
    expect(answer.text).not.toMatch(/(^|,)"[=+@-]/m);
    expect((await bob.client.get('/analytics/export.csv?from=2026-02-02&to=2026-02-01')).status).toBe(400);
    const far = await bob.client.get('/analytics/export.csv?to=8999-12-31');
    expect(far.text.trimEnd().split('\r\n')).toEqual([head, ...lines]); // until today

    await db.sql`update channels set deleted_at = now() where id = ${rest}`;
    const left = (await bob.client.get('/analytics/export.csv')).text.trimEnd().split('\r\n');
    expect(left).toEqual([head, ...lines.filter((line) => !line.includes(rest))]); // that of the channel fills whole pages
  });
});

describe('credentials of the public routes', () => {
  test('are an API key, an access token, or the cookie of a session [PA3, PA4, S185]', async () => {
    const channelId = await channelOf();
    const path = `/public/v1/analytics/${channelId}`;
    const oauthApp = await makeApp(ann);
    const { access } = await tokensFor(app, ann, oauthApp, { scope: 'mcp:read' });
    const token = new Client(app.address);
    token.headers = { authorization: access };
    for (const client of [key, token, ann.client])
      for (const suffix of ['', '/history']) expect((await client.get(`${path}${suffix}`)).status).toBe(200);
    const nobody = await new Client(app.address).get(path);
    expect([nobody.status, nobody.body.msg]).toEqual([401, 'No API Key found']);
  });
});
