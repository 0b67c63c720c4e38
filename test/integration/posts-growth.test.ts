import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Database, openDatabase } from '../../src/db/index.ts';
import { systemClock } from '../../src/kernel/index.ts';
import { openPosts, type Posts } from '../../src/posts/index.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { seedOrg } from '../support/publishing.ts';
import { quietLog } from '../support/quiet-log.ts';

// What a statement costs is what it reads. Rows read are counted by the database itself, over the statements as the product sends them.

const CHANNELS = 20;
const START = new Date(Date.UTC(2100, 0, 1));

let db: TestDatabase;
let sql: Database;
let posts: Posts;
let orgId: string;
let channelIds: string[];
let seeded = 0;

beforeAll(async () => {
  db = await testDatabase();
  sql = openDatabase({ url: db.url, connections: 1 });
  posts = openPosts({
    sql,
    clock: { ...systemClock, now: () => START, in: (ms) => new Date(START.getTime() + ms) },
    media: {} as never,
    links: {} as never,
    incarnation: 'me',
    beat: { lastBeatAgeMs: () => 0, steadySince: () => 0 },
    log: quietLog(),
    nudges: { within: async () => () => {} },
    channels: {} as never,
    options: { horizonMs: 48 * 3_600_000, inFlight: 64, lateMs: 60_000, deletedDays: 30 },
  });
  ({ orgId, channelIds } = await seedOrg(db.sql, CHANNELS));
});
afterAll(async () => {
  await posts[Symbol.asyncDispose]();
  await sql.end();
  await db[Symbol.asyncDispose]();
});

/** Posts of one organization, one for each minute, two thirds of them queued; another organization has as many. */
async function seedTo(count: number): Promise<void> {
  const other = await seedOrg(db.sql, CHANNELS);
  for (const { org, channels } of [
    { org: orgId, channels: channelIds },
    { org: other.orgId, channels: other.channelIds },
  ])
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      select gen_random_uuid(), ${org}, (${channels}::uuid[])[1 + g % ${CHANNELS}], 'g' || g, case when g % 3 < 2 then 'QUEUE' else 'PUBLISHED' end,
        case when g % 3 < 2 then 'scheduled' end, repeat('x', 200), at, case when g % 3 < 2 then at end
      from generate_series(${seeded}::int, ${count - 1}::int) g cross join lateral (select ${START}::timestamptz + g * interval '1 minute' as at) t`;
  seeded = count;
  await db.sql`vacuum analyze posts`;
  await db.sql`vacuum analyze channels`;
}

/** Entries of indexes and rows of the table of posts that were read. */
async function reads(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<{ n: number }[]>`
    select ((select seq_tup_read from pg_stat_user_tables where relname = 'posts')
      + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'posts'))::int as n`;
  return row!.n;
}
async function readBy(work: () => Promise<unknown>): Promise<number> {
  const before = await reads();
  await work();
  return (await reads()) - before;
}

const statements: Record<string, () => Promise<unknown>> = {
  'taking from a channel where nothing is due': () => posts.takeNext(orgId, channelIds[0]!),
  'taking from all channels where nothing is due': () => Promise.all(channelIds.map((id) => posts.takeNext(orgId, id))),
  'the first page': () => posts.page(orgId, { page: 0, limit: 50 }),
  'a page behind it': () => posts.page(orgId, { page: 3, limit: 50 }),
  'a page of a state that few have': () => posts.page(orgId, { page: 0, limit: 50, state: 'ERROR' }),
  'a page of a state that many have': () => posts.page(orgId, { page: 0, limit: 50, state: 'PUBLISHED' }),
  'a day of the calendar': () => posts.list(orgId, { from: new Date(START.getTime() + 3_600_000), to: new Date(START.getTime() + 7_200_000) }),
  'the next free posting time': () => posts.findSlot(orgId),
  'the next free posting time of a channel': () => posts.findSlot(orgId, channelIds[0]!),
  'slots to be taken over': () => posts.sweeps.takeOver(500),
  'channels that are overdue': () => posts.sweeps.overdue(500),
  'questions that are overdue': () => posts.sweeps.unasked(500),
};

test('what is read for lists, free times, takings and sweeps does not grow with the posts of an organization', async () => {
  const rows: Record<string, number[]> = {};
  for (const count of [30_000, 60_000]) {
    await seedTo(count);
    for (const [name, work] of Object.entries(statements)) {
      for (let n = 0; n < 7; n++) await work(); // the plan that the driver's prepared statement ends with
      (rows[name] ??= []).push(await readBy(work));
    }
  }
  expect(Object.entries(rows).filter(([, [few, many]]) => many! > few! + 100)).toEqual([]);
}, 120_000);
