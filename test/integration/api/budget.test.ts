import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { counted } from '../../support/worlds/counted.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { belowPosts } from '../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  newPost,
  type Network,
  openNetwork,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// Counts have no noise: these are tests. A budget may be lowered by anyone, raised only with a reason.

let db: TestDatabase;
let network: Network;
let world: Publisher;
const sent: string[] = [];
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, onStatement: (text) => sent.push(text) });
});
afterEach(async () => world[Symbol.asyncDispose]());

const inAnHour = () => systemClock.in(3_600_000);
const reminders = async () => (await db.sql`select count(*)::int as n from actor_reminders`)[0]!['n'] as number;
const body = (channelId: string) => ({
  type: 'schedule' as const,
  date: { at: inAnHour(), isLocal: false },
  tags: [],
  posts: [
    {
      integration: { id: channelId },
      value: [{ content: '<p>Hi</p>', delay: 0, image: [] }],
      settings: {},
      type: undefined,
      group: undefined,
    },
  ],
});

test('one create is one commit of two statements, its channel read and its reminder included (H3)', async () => {
  const { orgId, userId, channelId } = await seedOrg(db.sql);
  await admit(world, orgId, [newPost(channelId, { state: 'DRAFT' })]); // the actor is there
  const before = await reminders();
  const create = async () => {
    const composed = await world.posts.prepareCreate(orgId, body(channelId) as never, userId);
    await admit(world, orgId, composed.posts, { createdBy: userId });
  };
  const first = await counted(sent, create);
  expect(first).toMatchObject({ statements: 2, commits: 1 });
  expect(await reminders()).toBe(before + 1);
  const second = await counted(sent, create); // later than the first: the reminder stands
  expect(second).toMatchObject({ statements: 2, commits: 1 });
  expect(await reminders()).toBe(before + 1);
});

test('concurrent creates read their channels together, and no organization sees those of another (H3)', async () => {
  const orgs = await Promise.all(Array.from({ length: 50 }, () => seedOrg(db.sql)));
  const { statements } = await counted(sent, async () => {
    const own = orgs.map(({ orgId, userId, channelId }) =>
      world.posts.prepareCreate(orgId, body(channelId) as never, userId),
    );
    const foreign = orgs.map(({ orgId, userId }, n) =>
      world.posts.prepareCreate(orgId, body(orgs[(n + 1) % 50]!.channelId) as never, userId),
    );
    const composed = await Promise.all(own);
    expect(composed.map(({ posts }) => posts.map(({ channelId }) => channelId))).toEqual(
      orgs.map(({ channelId }) => [channelId]),
    );
    for (const refused of await Promise.allSettled(foreign))
      expect(refused).toMatchObject({ status: 'rejected', reason: { message: 'Integration not found' } });
  });
  expect(statements).toBeLessThanOrEqual(2);
});

test('a hundred creates of one organization at once are two turns and two commits (H4)', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 10);
  await admit(world, orgId, [newPost(channelIds[0]!, { state: 'DRAFT' })]);
  const turns = world.host.counters.turns;
  const { statements, commits } = await counted(sent, () =>
    Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        admit(world, orgId, [newPost(channelIds[n % 10]!, { publishDate: inAnHour() })]),
      ),
    ),
  );
  expect(world.host.counters.turns - turns).toBeLessThanOrEqual(2);
  expect(statements).toBeLessThanOrEqual(6);
  expect(commits).toBeLessThanOrEqual(2);
  expect(await db.sql`select count(*)::int as n from posts where org_id = ${orgId}`).toEqual([{ n: 101 }]);
});

test('a hundred creates of a hundred organizations at once share their commits (H5)', async () => {
  const orgs = await Promise.all(Array.from({ length: 100 }, () => seedOrg(db.sql)));
  const { statements, commits } = await counted(sent, () =>
    Promise.all(
      orgs.map(({ orgId, channelId }) => admit(world, orgId, [newPost(channelId, { publishDate: inAnHour() })])),
    ),
  );
  expect(statements).toBeLessThanOrEqual(12);
  expect(commits).toBeLessThanOrEqual(4);
});

test('a move is two statements and a check of its links in one commit, a deletion one statement (H7, H8)', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, { publishDate: systemClock.in(7_200_000) });
  await admit(world, orgId, [post]);
  const live = await reminders();
  const moved = await counted(sent, () =>
    postActorOf(world, orgId, post.id).setDate({ date: inAnHour(), action: 'schedule' }),
  );
  expect(moved.statements).toBeLessThanOrEqual(3); // one asks whether its links are to be short: posts alone are two
  expect(moved.texts.filter((text) => !text.includes('short_links')).length).toBeLessThanOrEqual(2);
  expect(moved.commits).toBe(1);
  expect(await reminders()).toBe(live);
  const removed = await counted(sent, () => postActorOf(world, orgId, post.id).cancel({}));
  expect(removed).toMatchObject({ statements: 1, commits: 1 });
});

test('publishing one post is at most eight statements and five commits, and no reminder (H9)', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, { publishDate: systemClock.in(1_500) });
  await admit(world, orgId, [post]);
  const turns = world.host.counters.calls;
  const { statements, commits } = await counted(sent, async () => {
    await systemClock.sleep(1_500);
    while ((await db.sql`select state from posts where id = ${post.id}`)[0]!['state'] !== 'PUBLISHED')
      await systemClock.sleep(10);
    await systemClock.sleep(100);
  });
  expect(statements).toBeLessThanOrEqual(8);
  expect(commits).toBeLessThanOrEqual(5);
  expect(network.asked).toHaveLength(1);
  expect(world.host.counters.calls - turns).toBe(0);
  expect(world.host.counters.stateWrites).toBe(0);
  expect((await db.sql`select count(*)::int as n from actor_reminders where id like ${`${orgId}%`}`)[0]).toEqual({
    n: 0,
  });
});

test('a first comment is at most six statements and four commits more, one call and no reminder (H11)', async () => {
  const below = belowPosts(network);
  const { orgId, channelId } = await seedOrg(db.sql);
  const publish = async (settings: { firstComment?: string }) => {
    const post = newPost(channelId, { settings, publishDate: systemClock.in(1_500) });
    await admit(world, orgId, [post]);
    const { calls, nudges } = world.host.counters;
    const isDone = async () => {
      const [row] = await db.sql<{ state: string; comment: string | null }[]>`
        select p.state, f.state as comment
        from posts p
        left join post_follow_ups f on f.post_id = p.id
        where p.id = ${post.id}`;
      return row!.state === 'PUBLISHED' && (settings.firstComment === undefined || row!.comment === 'done');
    };
    const counts = await counted(sent, async () => {
      await systemClock.sleep(1_500);
      while (!(await isDone())) await systemClock.sleep(10);
      await systemClock.sleep(100);
    });
    return { ...counts, calls: world.host.counters.calls - calls, nudges: world.host.counters.nudges - nudges };
  };
  const bare = await publish({});
  const commented = await publish({ firstComment: '<p>First</p>' });
  expect(commented.statements - bare.statements).toBeLessThanOrEqual(6);
  expect(commented.commits - bare.commits).toBeLessThanOrEqual(4);
  expect(commented.calls - bare.calls).toBeLessThanOrEqual(2);
  expect(commented.nudges - bare.nudges).toBe(0);
  expect(network.asked).toHaveLength(2);
  expect(below.asked).toHaveLength(1);
  expect(world.host.counters.stateWrites).toBe(0);
  expect((await db.sql`select count(*)::int as n from actor_reminders where id like ${`${orgId}%`}`)[0]).toEqual({
    n: 0,
  });
});

test('a thousand posts on a hundred channels at once cost a tenth of a statement and of a commit each (H10)', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 100);
  const due = systemClock.in(2_000);
  await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => admit(world, orgId, [newPost(channelIds[n % 100]!, { publishDate: due })])),
  );
  const { calls, nudges } = world.host.counters;
  const { statements, commits } = await counted(sent, async () => {
    await systemClock.sleep(Math.max(0, due.getTime() - Date.now()));
    await settled(db.sql, orgId, { timeoutMs: 50_000 });
    await systemClock.sleep(100);
  });
  expect(network.taken).toHaveLength(1_000);
  expect(new Set(network.taken.map(({ postId }) => postId)).size).toBe(1_000);
  expect(network.mostAtOnce).toBe(1);
  expect(statements).toBeLessThanOrEqual(100);
  expect(commits).toBeLessThanOrEqual(100);
  expect(world.host.counters.calls - calls + world.host.counters.nudges - nudges).toBeLessThanOrEqual(100);
});

test('a sweep that finds nothing is at most eight statements, and its scans use their indexes (H16)', async () => {
  const { orgId, channelIds, userId } = await seedOrg(db.sql, 50);
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at, created_by)
    select gen_random_uuid(), ${orgId}, (${channelIds}::uuid[])[1 + n % 50], 'g', 'QUEUE', 'scheduled', '',
      now() + n * interval '1 second' + interval '1 hour', now() + n * interval '1 second' + interval '1 hour',
      ${userId}
    from generate_series(1, 20000) n`;
  await db.sql`
    insert into posts (
      id, org_id, channel_id, group_id, root_post_id, state, detail, content, media, publish_date, created_by)
    select gen_random_uuid(), org_id, channel_id, 'g', id, state, detail, '', '[{"path": "https://a.example/b.png"}]',
      publish_date, created_by
    from posts
    where org_id = ${orgId}
    limit 2000`;
  await db.sql`
    update channels
    set next_due_at = now() + interval '1 hour', reminder_due_at = now() + interval '1 hour'
    where org_id = ${orgId}`;
  await db.sql`analyze`;
  // after a silence a sweep takes nothing over yet
  await eventually('the host has sent a heartbeat a moment ago', () => world.engine.heartbeatAgeMs() < 2_500);
  let own: string[] | undefined;
  for (let tries = 0; tries < 3; tries++) {
    sent.length = 0;
    expect(await world.reconciler.sweep()).toEqual({
      takenOver: 0,
      woken: 0,
      entered: 0,
      asked: 0,
      prepared: 0,
      series: 0,
      followed: 0,
      delivering: 0,
    });
    const these = sent.filter((text) => /all orgs|lease/.test(text));
    if (!own || these.length < own.length) own = these; // other loops of the product take leases meanwhile
  }
  expect(own!.length).toBeGreaterThan(0);
  expect(own!.length).toBeLessThanOrEqual(8);
  for (const scan of [
    'next_due_at < now()',
    'reminder_due_at is distinct from c.next_due_at',
    'f.due_at < now()',
    'look_up_at < now()',
    'p.prepare_at is null',
    'repeated_at is null',
    'slot_incarnation is not null and (',
  ]) {
    const text = own!.map((one) => one.replaceAll(/\s+/g, ' ')).find((one) => one.includes(scan))!;
    const asked = text
      .replace(/\$\d+::float8/g, '5000')
      .replace(/limit\s+\$\d+/g, 'limit 500')
      .replace(/\$\d+(::text\[\])/g, "'{fake@v1}'$1")
      .replaceAll(/\$\d+/g, `'${newId()}'`);
    const plan = (await db.sql.unsafe(`explain (analyze, format json) ${asked}`))[0]!['QUERY PLAN'] as {
      Plan: PlanNode;
    }[];
    expect(readRows(plan[0]!.Plan)).toBeLessThanOrEqual(10);
  }
});

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}
/** Rows of posts and channels that a plan has touched. */
const readRows = (node: PlanNode): number =>
  (node['Relation Name'] === 'posts' || node['Relation Name'] === 'channels'
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, one) => sum + readRows(one), 0);
