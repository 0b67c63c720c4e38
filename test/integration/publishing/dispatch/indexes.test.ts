import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Database, findTrue } from '../../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { CreateBody, type Posts } from '../../../../src/publishing/posts/index.ts';
import { queuedWithFiles } from '../../../../src/library/media/store.ts';
import * as state from '../../../../src/publishing/posts/state.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { openPublishing, seedOrg } from '../../../support/worlds/publishing/world.ts';

// What a statement costs is what it reads. Rows and blocks read are counted by the database itself, over the statements
// as the product sends them.

const CHANNELS = 20;
const START = new Date(Date.UTC(2100, 0, 1));
/** A range with all posts: some 25 days before that, and some 25 after it. */
const [BEFORE, BEHIND] = [new Date(Date.UTC(2099, 0, 1)), new Date(Date.UTC(2101, 0, 1))];

/** A file that a queued post names. */
const FILE = newId();

let db: TestDatabase;
let context: Awaited<ReturnType<typeof openPublishing>>;
let sql: Database;
let posts: Posts;
let orgId: string;
let channelIds: string[];
let other: { orgId: string; channelIds: string[] };
let seeded = 0;

beforeAll(async () => {
  db = await testDatabase();
  context = await openPublishing({
    url: db.url,
    connections: 1,
    clock: { ...systemClock, now: () => START, in: (ms) => new Date(START.getTime() + ms) },
    engine: noEngine,
  });
  ({ sql, posts } = context);
  ({ orgId, channelIds } = await seedOrg(db.sql, CHANNELS));
  other = await seedOrg(db.sql, CHANNELS);
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
    values (${FILE}, ${orgId}, 'a', 'a.png', ${`${orgId}/a.png`}, 'image', 'image/png', 1)`;
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, media, publish_date, due_at)
    values (${newId()}, ${orgId}, ${channelIds[0]!}, 'f', 'QUEUE', 'scheduled', 'x', ${db.sql.json([{ id: FILE }])},
      ${BEHIND}, ${BEHIND})`;
});
afterAll(async () => {
  await context[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const FEW = 36_000;
/**
 * Posts of one organization, one for each minute, two thirds of them queued; another organization has as many. Those
 * that come on top are older.
 */
async function seedTo(count: number): Promise<void> {
  for (const { org, channels } of [
    { org: orgId, channels: channelIds },
    { org: other.orgId, channels: other.channelIds },
  ])
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      select gen_random_uuid(), ${org}, (${channels}::uuid[])[1 + g % ${CHANNELS}], 'g' || g, case
        when g % 3 < 2 then 'QUEUE'
        else 'PUBLISHED' end,
        case when g % 3 < 2 then 'scheduled' end, repeat('x', 200), at, case when g % 3 < 2 then at end
      from generate_series(${seeded}::int, ${count - 1}::int) g
      cross join lateral (select ${START}::timestamptz + case
        when g < ${FEW}::int then g
        else ${FEW}::int - 1 - g end * interval '1 minute' as at) t`;
  // A tenth of the published ones are deleted, lately; a hundred were deleted long ago, and retention finds them.
  await db.sql`
    update posts
    set deleted_at = now()
    where state = 'PUBLISHED' and deleted_at is null and extract(minute from publish_date)::int % 10 = 2`;
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, deleted_at, created_at)
    select gen_random_uuid(), ${orgId}, ${channelIds[0]!}, 'old', 'PUBLISHED', 'x', now(), now() - interval '40 days',
      now() - interval '40 days'
    from generate_series(1, 100)`;
  await db.sql`
    insert into post_timeline (org_id, post_id, kind, message) select org_id, id, 'x', 'x' from posts p
    where not exists (select from post_timeline t where t.post_id = p.id)`;
  seeded = count;
  // a snapshot of the product's own loops keeps dead rows, and pages from being marked: each of them would be read
  await eventually('no table has dead rows, and all pages are marked as visible to all', async () => {
    await db.sql`vacuum (analyze, index_cleanup on)`;
    const left = await db.sql`
      select
      from pg_class c
      join pg_stat_user_tables s on s.relid = c.oid
      where c.relallvisible <> c.relpages or s.n_dead_tup > 0`;
    return left.length === 0;
  });
}

/** Entries of indexes and rows of tables that were read, and the blocks that they were read from. */
interface Reads {
  rows: number;
  blocks: number;
}
async function reads(): Promise<Reads> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<Reads[]>`
    select ((select sum(seq_tup_read)
    from pg_stat_user_tables) + (select sum(idx_tup_read)
    from pg_stat_user_indexes))::int as rows,
      (select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int
        from pg_statio_user_tables) as blocks`;
  return row!;
}
/**
 * The least of five times, and of up to fifty until it is at most `most`: the product's own loops read over the same
 * connection, and on a slow machine most times have some of that in them.
 */
async function readBy(work: () => Promise<unknown>, most?: Reads): Promise<Reads> {
  const least = { rows: Infinity, blocks: Infinity };
  const isOver = () => most !== undefined && (least.rows > most.rows || least.blocks > most.blocks);
  for (let n = 0; n < 5 || (n < 50 && isOver()); n++) {
    const before = await reads();
    await work();
    const after = await reads();
    least.rows = Math.min(least.rows, after.rows - before.rows);
    least.blocks = Math.min(least.blocks, after.blocks - before.blocks);
  }
  return least;
}

/** A body with a post for each channel, as the routes hand it on. */
const drafted = () =>
  CreateBody.parse({
    type: 'schedule',
    date: new Date(START.getTime() + 10 * 86_400_000).toISOString(),
    posts: channelIds.map((id) => ({ integration: { id }, value: [{ content: 'x'.repeat(200) }] })),
  });

const statements: Record<string, () => Promise<unknown>> = {
  'taking from a channel where nothing is due': () => posts.claimNext(orgId, channelIds[0]!),
  'taking from all channels where nothing is due': () =>
    Promise.all(channelIds.map((id) => posts.claimNext(orgId, id))),
  'the first page': () => posts.listPage(orgId, { page: 0, limit: 50 }),
  'a page behind it': () => posts.listPage(orgId, { page: 3, limit: 50 }),
  'a page far behind it': () => posts.listPage(orgId, { page: 300, limit: 50 }),
  'a page of a state that few have': () => posts.listPage(orgId, { page: 0, limit: 50, state: 'ERROR' }),
  'a page of a state that many have': () => posts.listPage(orgId, { page: 0, limit: 50, state: 'PUBLISHED' }),
  'a day of the calendar': () =>
    posts.listPosts(orgId, { from: new Date(START.getTime() + 3_600_000), to: new Date(START.getTime() + 7_200_000) }),
  'a part of a long range': () => posts.listPosts(orgId, { from: BEFORE, to: BEHIND, limit: 50 }),
  'a part far behind it': () =>
    posts.listPosts(orgId, {
      from: BEFORE,
      to: BEHIND,
      limit: 50,
      after: { at: '2100-01-20T00:00:00.000000', seq: 0 },
    }),
  'a range with more posts than one answer holds': () =>
    expect(posts.listPosts(orgId, { from: BEFORE, to: BEHIND })).rejects.toMatchObject({ code: 'validation_failed' }),
  'published posts up to a date': () => posts.listPublished(orgId, BEHIND),
  'posts before they are created': () =>
    posts.preflightPosts(orgId, [drafted()], { userId: orgId, schedulesFreely: true }),
  'the next free posting time': () => posts.findSlot(orgId),
  'the next free posting time of a channel': () => posts.findSlot(orgId, channelIds[0]!),
  'the signs of work': () => findTrue(sql, posts.sweeps.signs()),
  'slots to be taken over': () => posts.sweeps.takeOver(500),
  'channels that are overdue': () => posts.sweeps.overdue(500),
  'channels that come within the horizon': () => posts.sweeps.enter(500),
  'questions that are overdue': () => posts.sweeps.unasked(500),
  'posts to be prepared, and those whose series goes on': () => posts.sweeps.pending(500),
  'a file that is to be deleted': () =>
    expect(context.media.remove(orgId, FILE, { force: false })).rejects.toMatchObject({ code: 'conflict' }),
  'deleted posts whose time is over': () => posts.sweeps.dropDeleted(10),
};

test('rows read for lists, free times, claims, sweeps and retention do not grow with the posts of an organization', async () => {
  // its reads would be counted, and what it has learned of a small table may change a plan between two counts
  const tables = await db.sql<{ name: string }[]>`select relname as name from pg_stat_user_tables`;
  for (const { name } of tables) await db.sql`alter table ${db.sql(name)} set (autovacuum_enabled = off)`;
  const most: Record<string, Reads> = {};
  const grown: Record<string, Reads> = {};
  for (const count of [FEW, 2 * FEW]) {
    await seedTo(count);
    for (const [name, work] of Object.entries(statements)) {
      for (let n = 0; n < 7; n++) await work(); // the plan that the driver's prepared statement ends with
      const allowed = most[name];
      const read = await readBy(work, allowed);
      most[name] ??= { rows: read.rows + 100, blocks: read.blocks + 100 };
      if (allowed && (read.rows > allowed.rows || read.blocks > allowed.blocks)) grown[name] = read;
    }
  }
  expect(grown).toEqual({});
}, 300_000);

test('a claim reads no more for the posts that other channels are to send again', async () => {
  const held = await seedOrg(db.sql, 400);
  const free = await seedOrg(db.sql, 1);
  /** Each holds the slot of its channel, and whoever comes sends it again. */
  const hold = async (channels: readonly string[]) => {
    await db.sql`
      with resends as (
        insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, claimed_at, due_at)
        select gen_random_uuid(), ${held.orgId}, channel_id, 'g', 'QUEUE', 'unconfirmed', 'x', now() - interval '3 min',
          now() - interval '2 min', now() - interval '1 min'
        from unnest(${[...channels]}::uuid[]) channel_id
        returning id, channel_id
      )
      update channels c
      set slot_post_id = r.id, slot_incarnation = 'other', slot_until = now() + interval '1 hour'
      from resends r
      where c.id = r.channel_id`;
    for (const table of ['posts', 'channels']) await db.sql`vacuum (analyze) ${db.sql(table)}`;
  };
  let next = 0;
  const resend = () => posts.claimNext(held.orgId, held.channelIds[next++]!);
  const claims = async () => ({
    resend: await readBy(resend),
    free: await readBy(() => posts.claimNext(free.orgId, free.channelIds[0]!)),
  });
  await hold(held.channelIds.slice(0, 40));
  for (let n = 0; n < 7; n++) expect(await resend()).toMatchObject({ kind: 'claimed', claimed: { isResend: true } });
  const few = await claims();
  await hold(held.channelIds.slice(40));
  const many = await claims();
  expect(many.resend.rows).toBeLessThanOrEqual(few.resend.rows + 10);
  expect(many.free.rows).toBeLessThanOrEqual(few.free.rows + 10);
});

test('a claim reads no more for what other channels have published while a backup holds a snapshot', async () => {
  const third = await seedOrg(db.sql, 3);
  const [own, ...others] = third.channelIds;
  const backup = await db.sql.reserve();
  await backup`begin isolation level repeatable read`;
  await backup`select from posts`; // from here on no version of a row goes away
  /** Posts go through their states one after another, and with each the channel takes its slot and gives it up. */
  const publish = async (channels: readonly string[], count: number) => {
    for (let n = 0; n < count; n++) {
      const ids = channels.map(() => newId());
      await db.sql`
        insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
        select post_id, ${third.orgId}, channel_id, 'g', 'QUEUE', 'scheduled', 'x', now(), now()
        from unnest(${ids}::uuid[], ${[...channels]}::uuid[]) t (post_id, channel_id)`;
      for (const slot of [newId(), null])
        await db.sql`
          with changed as (
            update posts
            set state = ${slot ? 'QUEUE' : 'PUBLISHED'}, detail = ${slot && 'publishing'}
            where id = any(${ids}::uuid[])
          )
          update channels set slot_incarnation = ${slot}, next_due_at = now() where id = any(${[...channels]}::uuid[])`;
    }
    for (const table of ['posts', 'channels']) await db.sql`analyze ${db.sql(table)}`;
  };
  const claimed = async (channelId: string) => {
    for (let n = 0; n < 7; n++) await posts.claimNext(third.orgId, channelId);
    return readBy(() => posts.claimNext(third.orgId, channelId));
  };
  try {
    await publish(third.channelIds, 10);
    const few = await claimed(own!);
    await publish(others, 100);
    const [many, ofOther] = [await claimed(own!), await claimed(others[0]!)];
    expect(ofOther.rows).toBeGreaterThan(few.rows + 100); // the snapshot does hold the rows
    expect(many.rows).toBeLessThanOrEqual(few.rows + 10);
  } finally {
    await backup`commit`;
    backup.release();
  }
});

// A statement uses a partial index only where its own words imply those of the index: both are compared as Postgres
// writes them.

const ON_PREDICATES = {
  posts_waiting: state.waiting,
  posts_paused: state.paused,
  posts_to_prepare: state.preparable,
  posts_behind_to_prepare: state.preparableBehind,
  posts_unsettled: state.unsettled,
  posts_undecided: state.outcomeUnknown,
  posts_to_repeat: state.toRepeat,
  posts_over_limit: state.overLimit,
  posts_published: state.published,
  posts_queued_with_files: queuedWithFiles,
};

const conditionsOf = async () => {
  const rows = await db.sql<{ name: string; condition: string }[]>`
    select c.relname as name, pg_get_expr(i.indpred, i.indrelid) as condition
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where i.indrelid = 'posts'::regclass
      and i.indpred is not null`;
  return new Map(rows.map(({ name, condition }) => [name, condition.replaceAll(/[()]/g, '')]));
};

test('partial indexes of posts use the predicates of post state word for word', async () => {
  for (const [name, predicate] of Object.entries(ON_PREDICATES)) {
    await db.sql`create index ${db.sql(`${name}_as_declared`)} on posts (id) where ${predicate(db.sql, 'posts')}`;
  }
  const conditions = await conditionsOf();
  for (const name of Object.keys(ON_PREDICATES)) {
    expect([name, conditions.get(name)]).toEqual([name, conditions.get(`${name}_as_declared`)]);
    expect(conditions.get(name)).toBeDefined();
  }
});

test('every partial index on a state or a detail is among those compared', async () => {
  const named = [...(await conditionsOf())].filter(
    ([name, condition]) => /\b(state|detail)\b/.test(condition) && !name.endsWith('_as_declared'),
  );
  expect(named.map(([name]) => name).toSorted()).toEqual(Object.keys(ON_PREDICATES).toSorted());
});
