// oxlint-disable max-lines -- one host and one database serve all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import postgres from 'postgres';
import type { Database, Sql } from '../../../../src/platform/db/index.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { planFollowUps } from '../../../../src/publishing/follow-ups/index.ts';
import type { AttemptOutcome, Posts, ClaimedPost } from '../../../../src/publishing/posts/index.ts';
import { settle as settlementOf } from '../../../../src/publishing/posts/outcomes.ts';
import { settleOf } from '../../../../src/publishing/posts/dispatch/settle.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { counted } from '../../../support/worlds/counted.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { newPost, openNetwork, openPublishing, seedOrg, stateOf } from '../../../support/worlds/publishing/world.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

// The statement that writes a result takes the next post of the channel with the same slot: under all the conditions of
// a claim, or not at all.

const SLOT_LEASE_MS = 120_000;
let db: TestDatabase;
let host: Awaited<ReturnType<typeof openHost>>;
const sent: string[] = [];
beforeAll(async () => {
  db = await testDatabase();
  host = await openHost();
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** The posts of one host, which nobody wakes: each step is the test's. */
async function openHost() {
  const engine = {
    ...noEngine.engine,
    remindWithin: async () => () => {},
    heartbeatAgeMs: () => 0,
    steadySince: () => 0,
  };
  const context = await openPublishing({
    url: db.url,
    network: openNetwork(),
    connections: 4,
    onStatement: (text) => sent.push(text),
    engine: { ...noEngine, engine },
  });
  await db.sql`
    insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
    values (${context.incarnation}, 'dapr', 'x', '{}', now())`;
  return context;
}

async function take({ posts }: { posts: Posts }, orgId: string, channelId: string): Promise<ClaimedPost> {
  const next = await posts.claimNext(orgId, channelId);
  if (next.kind !== 'claimed') throw new Error(`Not claimed: ${next.kind}`);
  return next.claimed;
}
/** A channel with posts that are due, the first of them claimed. */
async function begun(count = 3) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const list = Array.from({ length: count }, (_, n) => newPost(channelId, { content: `post ${n}` }));
  await host.posts.admitPosts(orgId, [{ posts: list, createdBy: orgId }]);
  return { orgId, channelId, ids: list.map(({ id }) => id), claimed: await take(host, orgId, channelId) };
}
const out = ({ postId }: { postId: string }): AttemptOutcome => ({
  kind: 'published',
  release: { id: `r-${postId}`, url: '' },
});
const settleAndClaim = async (claimed: ClaimedPost) => (await host.posts.settleAndClaim(claimed, out(claimed))).next;
const slotOf = async (channelId: string) =>
  (
    await db.sql<{ incarnation: string | null; postId: string | null; leftMs: number | null }[]>`
    select slot_incarnation as incarnation, slot_post_id as "postId",
      (extract(epoch from slot_until - now()) * 1000)::float8 as "leftMs"
    from channels
    where id = ${channelId}`
  )[0]!;
const FREE = { incarnation: null, postId: null, leftMs: null };

test('a channel is published in order with one statement and one commit per post, each claimed as by claimNext', async () => {
  const { orgId, channelId, ids, claimed } = await begun(5);
  const order: string[] = [];
  const { statements, commits } = await counted(sent, async () => {
    for (let next: ClaimedPost | undefined = claimed; next; next = await settleAndClaim(next)) order.push(next.postId);
  });
  expect(order).toEqual(ids);
  expect({ statements, commits }).toEqual({ statements: 5, commits: 5 });
  expect(await slotOf(channelId)).toEqual(FREE);
  expect(
    await db.sql`
      select count(*)::int as n
      from posts
      where org_id = ${orgId} and state = 'PUBLISHED' and attempt = 1 and release_id = 'r-' || id`,
  ).toEqual([{ n: 5 }]);
  const kinds = await db.sql<{ id: string; kinds: string[] }[]>`
    select post_id as id, array_agg(kind order by id) as kinds
    from post_timeline
    where org_id = ${orgId}
    group by post_id`;
  for (const id of ids)
    expect(kinds.find((one) => one.id === id)!.kinds.filter((kind) => kind !== 'created')).toEqual([
      'claimed',
      'published',
    ]);
});

test('a post claimed with a result carries all that a claim answers, under a slot held from before the statement', async () => {
  const { orgId, channelId, ids, claimed } = await begun(2);
  await db.sql`
    update posts set attempts_failed = 2, saved = '{"value": 7}', settings = '{"a": 1}' where id = ${ids[1]!}`;
  const before = systemClock.monotonic();
  const next = (await settleAndClaim(claimed))!;
  expect(next.heldSince).toBeGreaterThanOrEqual(before);
  expect(next).toMatchObject({
    orgId,
    channelId,
    postId: ids[1],
    attempt: 1,
    incarnation: host.incarnation,
    content: 'post 1',
    attemptsFailed: 2,
    saved: 7,
    settings: { a: 1 },
    links: [],
    thread: [],
  });
  expect(next.channel).toEqual(claimed.channel);
  expect(Object.keys(next).toSorted()).toEqual(Object.keys(claimed).toSorted());
  const slot = await slotOf(channelId);
  expect(slot).toMatchObject({ incarnation: host.incarnation, postId: ids[1] });
  expect(slot.leftMs).toBeGreaterThan(SLOT_LEASE_MS - 60_000);
  expect(slot.leftMs).toBeLessThanOrEqual(SLOT_LEASE_MS);
});

interface Begun {
  channelId: string;
  ids: string[];
}
const none = [
  ['the channel is disabled', (sql, { channelId }) => sql`update channels set disabled = true where id = ${channelId}`],
  [
    'the channel needs a login',
    (sql, { channelId }) => sql`update channels set refresh_needed = true where id = ${channelId}`,
  ],
  [
    'the channel is removed',
    (sql, { channelId }) => sql`update channels set deleted_at = now() where id = ${channelId}`,
  ],
  [
    'its network takes no more for now',
    (sql, { channelId }) =>
      sql`update channels set resting_until = now() + interval '1 minute' where id = ${channelId}`,
  ],
  [
    'the others are drafts',
    (sql, { ids }) =>
      sql`update posts set state = 'DRAFT', detail = null, due_at = null where id in ${sql(ids.slice(1))}`,
  ],
  ['the others are paused', (sql, { ids }) => sql`update posts set detail = 'paused' where id in ${sql(ids.slice(1))}`],
  [
    'the others wait for an item before them',
    (sql, { ids }) => sql`update posts set due_at = null where id in ${sql(ids.slice(1))}`,
  ],
  [
    'the others are due later',
    (sql, { ids }) => sql`update posts set due_at = now() + interval '1 minute' where id in ${sql(ids.slice(1))}`,
  ],
  [
    'the others are deleted',
    (sql, { ids }) => sql`update posts set deleted_at = now() where id in ${sql(ids.slice(1))}`,
  ],
] satisfies [string, (sql: Sql, begun: Begun) => PromiseLike<unknown>][];
test.each(none)('a result claims no post where %s', async (_, change) => {
  const it = await begun();
  await change(db.sql, it);
  expect(await settleAndClaim(it.claimed)).toBeUndefined();
  expect(await slotOf(it.channelId)).toEqual(FREE);
  expect(await stateOf(db.sql, it.ids[0]!)).toMatchObject({ state: 'PUBLISHED' });
  expect(await db.sql`select from posts where id in ${db.sql(it.ids.slice(1))} and attempt > 0`).toHaveLength(0);
});

test.each([
  ['deleted', (sql: Sql, id: string) => sql`update posts set deleted_at = now() where id = ${id}`],
  [
    'moved',
    (sql: Sql, id: string) =>
      sql`
        update posts set publish_date = now() + interval '1 hour', due_at = now() + interval '1 hour' where id = ${id}`,
  ],
  [
    'made a draft',
    (sql: Sql, id: string) => sql`update posts set state = 'DRAFT', detail = null, due_at = null where id = ${id}`,
  ],
  ['claimed', (sql: Sql, id: string) => sql`update posts set detail = 'publishing' where id = ${id}`],
])('a post that is %s during the statement is skipped, and the next one claimed', async (_, change) => {
  const { ids, claimed } = await begun();
  expect(await whileWriting(ids[0]!, claimed, (tx) => change(tx, ids[1]!))).toMatchObject({ postId: ids[2] });
  expect(await stateOf(db.sql, ids[1]!)).toMatchObject({ attempt: 0 });
});
test('a post edited during the statement is claimed with the edit', async () => {
  const { ids, claimed } = await begun();
  const next = await whileWriting(
    ids[0]!,
    claimed,
    (tx) => tx`update posts set content = 'edited', version = version + 1 where id = ${ids[1]!}`,
  );
  expect(next).toMatchObject({ postId: ids[1], content: 'edited' });
});
/** The statement has begun, and holds its channel: its snapshot is older than the change. */
async function whileWriting(
  first: string,
  claimed: ClaimedPost,
  change: (tx: Sql) => PromiseLike<unknown>,
): Promise<ClaimedPost | undefined> {
  let next: Promise<ClaimedPost | undefined>;
  await db.sql.begin(async (tx) => {
    await tx`select from posts where id = ${first} for update`;
    next = settleAndClaim(claimed);
    await eventually('it waits for the post that it settles', async () => {
      const waiting = await waitingOnLock(db.sql);
      return waiting === 1;
    });
    await change(tx);
  });
  return next!;
}

test('a host whose slot was taken over claims nothing, and leaves the slot to the other', async () => {
  const { channelId, ids, claimed } = await begun();
  await using other = await openHost();
  await db.sql`update channels set slot_until = now() - interval '1 second' where id = ${channelId}`;
  await other.posts.sweeps.takeOver(10);
  expect(await settleAndClaim(claimed)).toBeUndefined();
  expect(await slotOf(channelId)).toMatchObject({ incarnation: other.incarnation, postId: ids[0] });
  expect(await stateOf(db.sql, ids[1]!)).toMatchObject({ detail: 'scheduled', attempt: 0 });
});

test('a host that was heard again while its slots were taken over keeps the slot that it holds anew', async () => {
  const { channelId, ids } = await begun();
  await using other = await openHost();
  // with the slots that other cases have left to this host
  const takeOver = async () => (await other.posts.sweeps.takeOver(1_000)).map((one) => one.channelId);
  await db.sql`
    update actor_hosts
    set last_heartbeat = now() - interval '10 seconds'
    where incarnation = ${host.incarnation}`;
  let taken: ReturnType<typeof takeOver>;
  await db.sql.begin(async (tx) => {
    await tx`select from channels where id = ${channelId} for update`;
    taken = takeOver();
    await eventually('the takeover waits for the channel', async () => {
      const waiting = await waitingOnLock(db.sql);
      return waiting === 1;
    });
    // what a host does that is heard again: it settles its post, and goes on to the next one with the slot
    await tx`update actor_hosts set last_heartbeat = now() where incarnation = ${host.incarnation}`;
    await tx`update posts set state = 'PUBLISHED', detail = null, release_id = 'r' where id = ${ids[0]!}`;
    await tx`update posts set detail = 'publishing', attempt = 1, incarnation = ${host.incarnation} where id = ${ids[1]!}`;
    await tx`update channels set slot_post_id = ${ids[1]!}, slot_until = now() + interval '2 minutes' where id = ${channelId}`;
  });
  expect(await taken!).not.toContain(channelId);
  expect(await slotOf(channelId)).toMatchObject({ incarnation: host.incarnation, postId: ids[1] });
});

test('a result without its slot is written and claims nothing', async () => {
  const { orgId, channelId, ids, claimed } = await begun();
  await db.sql`
    update channels set slot_incarnation = null, slot_post_id = null, slot_until = null where id = ${channelId}`;
  const second = await take(host, orgId, channelId);
  expect(await settleAndClaim(claimed)).toBeUndefined();
  expect(await stateOf(db.sql, ids[0]!)).toMatchObject({ state: 'PUBLISHED' });
  expect(await slotOf(channelId)).toMatchObject({ postId: second.postId });
  expect(await settleAndClaim(second)).toMatchObject({ postId: ids[2] });
});

test.each([
  { kind: 'lost', message: 'no answer' },
  { kind: 'processing', processingMs: 1_000 },
  { kind: 'rate_limited', message: 'later' },
  { kind: 'unavailable', message: 'later' },
  { kind: 'rejected', message: 'no' },
  { kind: 'reauthorize', message: 'expired' },
  { kind: 'not-sent' },
] satisfies AttemptOutcome[])('an attempt that ended as $kind claims nothing with its result', async (outcome) => {
  const { ids, claimed } = await begun();
  expect((await host.posts.settleAndClaim(claimed, outcome)).next).toBeUndefined();
  expect(await db.sql`select from posts where id in ${db.sql(ids.slice(1))} and attempt > 0`).toHaveLength(0);
});

test('the next item of a thread is claimed before other posts of the channel, with the releases before it', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const root = newPost(channelId);
  const item = newPost(channelId, { rootPostId: root.id, parentPostId: root.id, group: root.group });
  const other = newPost(channelId);
  await host.posts.admitPosts(orgId, [{ posts: [root, item], createdBy: orgId }]);
  await host.posts.admitPosts(orgId, [{ posts: [other], createdBy: orgId }]);
  expect(await settleAndClaim(await take(host, orgId, channelId))).toBeUndefined();
  const second = await take(host, orgId, channelId);
  expect(second).toMatchObject({ postId: item.id, thread: [{ id: `r-${root.id}` }] });
  expect(await settleAndClaim(second)).toMatchObject({ postId: other.id });
});
test('an item of the same thread is never claimed with the result before it, whose release it needs', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const root = newPost(channelId);
  const item = newPost(channelId, { rootPostId: root.id, parentPostId: root.id, group: root.group });
  await host.posts.admitPosts(orgId, [{ posts: [root, item], createdBy: orgId }]);
  await db.sql`update posts set due_at = now() where id = ${item.id}`;
  expect(await settleAndClaim(await take(host, orgId, channelId))).toBeUndefined();
  expect(await take(host, orgId, channelId)).toMatchObject({ postId: item.id, thread: [{ id: `r-${root.id}` }] });
});

type Result = { claimed: ClaimedPost; outcome: AttemptOutcome; asked?: 'processing' };
/** Results of one commit, written by the statement itself. */
const settleTogether = (...results: Result[]) => settleOn(host.sql, ...results);
const settleOn = (sql: Database, ...results: Result[]) => {
  const settle = settleOf({
    clock: systemClock,
    incarnation: host.incarnation,
    leaseMs: SLOT_LEASE_MS,
    unconfirmedMs: 60_000,
    lateMs: 60_000,
    followUps: { plan: planFollowUps },
  });
  return Promise.allSettled(
    results.map(({ claimed, outcome, asked }) =>
      settle(sql, { ...settlementOf(claimed, outcome, asked), claimsNext: true }),
    ),
  );
};

test('a result refused by the database fails alone: the others of its commit are written and claim their next posts', async () => {
  const [bad, good] = [await begun(), await begun()];
  const unreadable = { kind: 'published', release: { id: 'r', url: '', saved: 'a\0b' } } satisfies AttemptOutcome;
  const results = await settleTogether(
    { claimed: bad.claimed, outcome: unreadable },
    { claimed: good.claimed, outcome: out(good.claimed) },
  );
  expect(results).toMatchObject([
    { status: 'rejected' },
    { status: 'fulfilled', value: { next: { postId: good.ids[1] } } },
  ]);
  expect(await slotOf(good.channelId)).toMatchObject({ postId: good.ids[1] });
  expect(await stateOf(db.sql, good.ids[1]!)).toMatchObject({ detail: 'publishing', attempt: 1 });
  expect(await slotOf(bad.channelId)).toMatchObject({ postId: bad.ids[0] });
  expect(await stateOf(db.sql, bad.ids[0]!)).toMatchObject({ detail: 'publishing', attempt: 1 });
  expect(await stateOf(db.sql, bad.ids[1]!)).toMatchObject({ detail: 'scheduled', attempt: 0 });
});

describe('the statement of a result whose snapshot is older than a change of its organization', () => {
  const HELD = 1;
  let held: postgres.Sql;
  /** Statements of this connection that find `HELD` locked wait when they look for a channel, their snapshots taken. */
  beforeAll(async () => {
    await db.sql.unsafe(`
      create function wait_for_test() returns boolean language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(${HELD}); return true; end $$;
      create policy wait_for_test on channels using (wait_for_test());
      alter table channels enable row level security;
      grant select on all tables in schema public to pg_write_all_data`);
    held = postgres({ ...host.sql.options, max: 1 } as unknown as postgres.Options<{}>);
    await held`set role pg_write_all_data`; // policies are for others than the owner
  });
  afterAll(async () => held.end());

  test.each([
    { is: 'enabled', disabled: false, detail: 'retrying' },
    { is: 'disabled', disabled: true, detail: 'paused' },
  ])('writes what holds of one that is $is meanwhile: its post is $detail [S211]', async ({ disabled, detail }) => {
    const { orgId, ids, claimed } = await begun(1);
    const setDisabled = (wish: boolean) =>
      host.admin.orgs.change({ userId: null, impersonatorId: null, ip: null }, orgId, { disabled: wish });
    await setDisabled(!disabled);
    let results: ReturnType<typeof settleOn>;
    await db.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${HELD})`;
      results = settleOn(held, { claimed, outcome: { kind: 'unavailable', message: 'busy' } });
      await eventually('it has begun', async () => (await waitingOnLock(db.sql)) === 1);
      await setDisabled(disabled);
    });
    expect(await results!).toMatchObject([{ status: 'fulfilled', value: { lookUpAt: null } }]);
    expect(await stateOf(db.sql, ids[0]!)).toMatchObject({ state: 'QUEUE', detail });
  });
});

test('the rows that joins compare in vain do not grow with the square of the results in one commit', async () => {
  const RESULTS = 120;
  const { orgId, channelIds } = await seedOrg(db.sql, RESULTS);
  const posts = channelIds.flatMap((id) => [newPost(id), newPost(id)]);
  await host.posts.admitPosts(orgId, [{ posts, createdBy: orgId }]);
  const claimed = await Promise.all(channelIds.map((id) => take(host, orgId, id)));
  const plans: string[] = [];
  await using explained = new AsyncDisposableStack();
  const sql = postgres({
    ...host.sql.options,
    max: 1,
    onnotice: ({ message = '' }) => void plans.push(message),
  } as unknown as postgres.Options<{}>);
  explained.defer(() => sql.end());
  await sql.unsafe(`
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_analyze = on;
    set auto_explain.log_timing = off;
    set auto_explain.log_level = notice;
    set client_min_messages = notice`);

  const results = await settleOn(sql, ...claimed.map((one) => ({ claimed: one, outcome: out(one) })));
  expect(results).toMatchObject(claimed.map(() => ({ status: 'fulfilled', value: { next: { attempt: 1 } } })));
  const settling = plans.filter((plan) => plan.includes('CTE settled'));
  expect(settling.length).toBeLessThanOrEqual(2); // the first of a group does not wait for others
  const inVain = settling.flatMap((plan) =>
    [...plan.matchAll(/Rows Removed by Join Filter: (\d+)/g)].map(([, rows]) => Number(rows)),
  );
  expect(inVain.reduce((sum, rows) => sum + rows, 0)).toBeLessThanOrEqual(RESULTS);
});

/** A channel with a post that its network works on, which keeps no slot, and one that is under way. */
async function withOneProcessing() {
  const { orgId, channelId, ids, claimed } = await begun(4);
  await host.posts.settleAndClaim(claimed, { kind: 'processing', processingMs: 60_000 });
  return { orgId, channelId, ids, processing: claimed, underWay: await take(host, orgId, channelId) };
}
test('two results of one channel in one commit claim one post', async () => {
  const { channelId, ids, processing, underWay } = await withOneProcessing();
  const results = await settleTogether(
    { claimed: processing, outcome: out(processing), asked: 'processing' },
    { claimed: underWay, outcome: out(underWay) },
  );
  expect(results).toMatchObject([
    { status: 'fulfilled', value: { next: undefined } },
    { status: 'fulfilled', value: { next: { postId: ids[2] } } },
  ]);
  expect(await slotOf(channelId)).toMatchObject({ postId: ids[2] });
  expect(await stateOf(db.sql, ids[3]!)).toMatchObject({ detail: 'scheduled' });
});
test('a result claims nothing where another of its commit says that the network is rate limited', async () => {
  const { channelId, ids, processing, underWay } = await withOneProcessing();
  const limited = { kind: 'rate_limited', message: 'later' } satisfies AttemptOutcome;
  const results = await settleTogether(
    { claimed: processing, outcome: limited, asked: 'processing' },
    { claimed: underWay, outcome: out(underWay) },
  );
  expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled', value: { next: undefined } }]);
  expect(await slotOf(channelId)).toEqual(FREE);
  expect(await db.sql`select from channels where id = ${channelId} and resting_until > now()`).toHaveLength(1);
  expect(await stateOf(db.sql, ids[2]!)).toMatchObject({ detail: 'scheduled' });
});

test('a draining host claims nothing with its results', async () => {
  const { channelId, ids, claimed } = await begun();
  await using leaving = await openHost();
  await host.posts.settleAndClaim(claimed, { kind: 'not-sent' });
  const own = await take(leaving, claimed.orgId, channelId);
  await leaving.posts.drainPosts();
  expect((await leaving.posts.settleAndClaim(own, out(own))).next).toBeUndefined();
  expect(await slotOf(channelId)).toEqual(FREE);
  expect(await stateOf(db.sql, ids[1]!)).toMatchObject({ detail: 'scheduled' });
});
