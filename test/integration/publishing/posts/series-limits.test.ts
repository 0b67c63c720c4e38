import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { CreateBody, type Preflight } from '../../../../src/publishing/posts/index.ts';
import { override, WITH_BILLING } from '../../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import {
  admit,
  newPost,
  openNetwork,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

const DAY = 86_400_000;

let db: TestDatabase;
let world: Publisher;
let org: Awaited<ReturnType<typeof seedOrg>>;
beforeAll(async () => {
  db = await testDatabase();
  world = await startPublisher({ url: db.url, network: openNetwork(), env: WITH_BILLING });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  org = await seedOrg(db.sql);
});

const approvalOf = (required: 'members' | 'all') => db.sql`
  update organizations
  set settings = settings || ${JSON.stringify({ approvalRequired: required })}::text::jsonb
  where id = ${org.orgId}`;
const allow = (posts: number) => override(db.sql, org.orgId, { posts_per_month: posts });
const recurrence = {
  days: 'FREQ=DAILY',
  timezone: 'UTC',
  local: '2020-01-01T00:00:00.000',
  until: null,
  left: null,
  inter: null,
};
/** A series whose first post is out and whose second one finds no room; `hold`: posts need approval from then on. */
async function overLimit({ hold = false } = {}) {
  await allow(1);
  const root = newPost(org.channelId, { recurrence });
  const item = newPost(org.channelId, { rootPostId: root.id, parentPostId: root.id, group: root.group });
  await admit(world, org.orgId, [root, item]);
  await settled(db.sql, org.orgId);
  if (hold) await approvalOf('all');
  let next: { id: string } | undefined;
  await eventually('its second post is there', async () => {
    await world.reconciler.sweep();
    [next] = await db.sql<{ id: string }[]>`
      select id from posts where org_id = ${org.orgId} and root_post_id is null and id <> ${root.id}`;
    return next !== undefined;
  });
  return next!.id;
}
const used = async () => (await world.billing.usage(org.orgId)).limits.posts_per_month.used;
/** The room is looked for every ten minutes. */
const lookAgain = async () => {
  await db.sql`
    update posts
    set look_up_at = now() - interval '1 second'
    where org_id = ${org.orgId} and look_up_at is not null`;
  return world.reconciler.sweep();
};
const kinds = async (id: string) =>
  (await world.posts.getTimeline(org.orgId, id)).items.map(({ kind, message }) => `${kind}: ${message}`);

test('a post of a series beyond the plan waits, uncounted, and says why; with room it goes on and counts [S120]', async () => {
  const id = await overLimit();
  expect(await stateOf(db.sql, id)).toMatchObject({
    state: 'QUEUE',
    detail: 'paused',
    errorKind: 'billing_required',
    error: 'Plan limit reached: posts_per_month (1)',
  });
  expect(await kinds(id)).toContain('paused: The plan has no room for this post');
  expect(await db.sql`select payload from outbox where topic = 'post.paused' and entity_id = ${id}`).toEqual([
    { payload: expect.objectContaining({ channelId: org.channelId, detail: 'paused', reason: 'billing' }) },
  ]);
  expect(await used()).toBe(1);
  expect(await lookAgain()).toMatchObject({ series: 1 });
  expect(await world.reconciler.sweep()).toMatchObject({ series: 0 }); // not before ten minutes are over
  expect((await stateOf(db.sql, id)).detail).toBe('paused');

  await allow(2);
  await lookAgain();
  expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', errorKind: null });
  expect(await kinds(id)).toContain('resumed: The plan has room for this post');
  expect(await used()).toBe(2);
  await expect(admit(world, org.orgId, [newPost(org.channelId)])).rejects.toMatchObject({ code: 'limit_exceeded' });
});

test('a post that has room waits on while its organization is disabled [S120, S211]', async () => {
  const id = await overLimit();
  const by = { userId: null, impersonatorId: null, ip: null };
  await world.context.admin.orgs.change(by, org.orgId, { disabled: true });
  await allow(2);
  await lookAgain();
  expect((await stateOf(db.sql, id)).detail).toBe('paused');
  await world.context.admin.orgs.change(by, org.orgId, { disabled: false });
  await lookAgain();
  expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', errorKind: null });
});

test('a post that has room and whose channel is stopped waits on for that, and says so [S120, S137]', async () => {
  const id = await overLimit();
  await db.sql`update channels set refresh_needed = true where id = ${org.channelId}`;
  await allow(2);
  await lookAgain();
  expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'paused', errorKind: null });
  expect((await kinds(id)).at(-1)).toBe('paused: The channel is stopped');
  const told = await db.sql`select topic, payload->>'reason' as reason from outbox where entity_id = ${id} order by id`;
  expect(told.slice(-1)).toEqual([{ topic: 'post.paused', reason: 'channel' }]);
  expect(told.map(({ topic }) => topic)).not.toContain('post.resumed');
});

test('a post that waits for room is refused a status with the limit that it waits for [S5]', async () => {
  const id = await overLimit();
  const refused = {
    code: 'limit_exceeded',
    message: 'Plan limit reached: posts_per_month (1)',
    extra: { limit: 'posts_per_month', max: 1 },
  };
  await expect(world.posts.editPost(org.orgId, id, { status: 'schedule' })).rejects.toMatchObject(refused);
  const edits = [{ postId: id, change: { status: 'schedule' as const, content: 'x' } }];
  await expect(admit(world, org.orgId, [], { edits })).rejects.toMatchObject(refused);
});

test('preflight tells of the limit that an edit with a status will be refused by [S116]', async () => {
  const codes = async (id: string, type: string) => {
    const posts = [{ integration: { id: org.channelId }, value: [{ id, content: 'x' }] }];
    const body = CreateBody.parse({ type, date: systemClock.in(DAY).toISOString(), posts });
    const by = { userId: org.userId, schedulesFreely: true };
    const [{ entries }] = (await world.posts.preflightPosts(org.orgId, [body], by)) as [Preflight];
    return entries.map(({ isValid, warnings }) => [isValid, ...warnings.map(({ code }) => code)]);
  };
  const id = await overLimit();
  for (const type of ['draft', 'schedule', 'now']) expect(await codes(id, type)).toEqual([[true, 'limit_exceeded']]);
  expect(await codes(id, 'update')).toEqual([[true]]);
  await allow(2);
  await lookAgain();
  for (const type of ['draft', 'schedule', 'now']) expect(await codes(id, type)).toEqual([[true]]);
});

test('a limit beyond the integers of the database has room [S76, S120]', async () => {
  const id = await overLimit();
  await allow(3_000_000_000);
  await lookAgain();
  expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
});

const pausedFacts = async (id: string) =>
  (await db.sql`select from outbox where topic = 'post.paused' and entity_id = ${id}`).count;

test('a post that is stored twice without room is paused once [S120]', async () => {
  const post = newPost(org.channelId, { publishDate: systemClock.in(DAY) });
  const { id } = post;
  for (let n = 0; n < 2; n++)
    await world.posts.insertOverLimit(org.orgId, { posts: [post], createdBy: null }, 'No room');
  expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'paused', errorKind: 'billing_required' });
  expect(await pausedFacts(id)).toBe(1);
  expect((await kinds(id)).filter((kind) => kind.startsWith('paused'))).toHaveLength(1);
});

test('a post that was let in before it is stored without room stays scheduled [S120]', async () => {
  const post = newPost(org.channelId, { publishDate: systemClock.in(DAY) });
  await allow(1);
  await admit(world, org.orgId, [post]);
  await world.posts.insertOverLimit(org.orgId, { posts: [post], createdBy: null }, 'No room');
  expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'scheduled', errorKind: null });
  expect(await pausedFacts(post.id)).toBe(0);
});

test('it cannot be had past the plan by an edit, a channel that works again, or another host at once', async () => {
  const id = await overLimit();
  const post = postActorOf(world, org.orgId, id);
  for (const status of ['draft', 'schedule'] as const)
    await expect(post.setStatus({ status })).rejects.toMatchObject({ code: 'limit_exceeded' });
  await post.edit({ content: '<p>other</p>' });
  await world.context.channels.disable(org.orgId, org.channelId);
  await world.context.channels.enable(org.orgId, org.channelId);
  expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'paused', errorKind: 'billing_required' });
  await allow(2);
  const quota = await world.billing.quota(org.orgId);
  const released = await Promise.allSettled([
    world.posts.releaseOverLimit(org.orgId, id, quota),
    world.posts.releaseOverLimit(org.orgId, id, quota),
  ]);
  expect(released.filter((one) => one.status === 'fulfilled' && one.value)).toHaveLength(1);
  expect(await used()).toBe(2);
});

test('what waited past its date goes on with a date that is due, and names those that were skipped [S120]', async () => {
  const id = await overLimit();
  const [before] = await db.sql<{ at: Date }[]>`
    update posts
    set publish_date = publish_date - interval '4 days', due_at = null
    where id = ${id}
    returning publish_date as at`;
  await allow(5);
  await lookAgain();
  await settled(db.sql, org.orgId, { details: ['scheduled'] });
  const { publishDate } = await stateOf(db.sql, id);
  expect(publishDate.getTime() - before!.at.getTime()).toBeGreaterThanOrEqual(3 * DAY);
  expect(publishDate.getTime()).toBeLessThanOrEqual(systemClock.in(DAY).getTime());
  const { items } = await world.posts.getTimeline(org.orgId, id);
  expect(items.find(({ kind }) => kind === 'resumed')?.data).toMatchObject({
    skipped: expect.arrayContaining([before!.at.toISOString()]),
  });
  const told = await db.sql`
    select (payload ->> 'publishDate')::timestamptz as at
    from outbox
    where entity_id = ${id} and topic = 'post.scheduled'
    order by id`;
  expect(told.slice(1)).toEqual([{ at: publishDate }]);
});

test('an edit of its date while room is made for it holds: it goes on at that date, and counts once [S120]', async () => {
  const id = await overLimit();
  await allow(2);
  const quota = await world.billing.quota(org.orgId);
  const publishDate = systemClock.in(5 * DAY);
  const released: Promise<unknown>[] = [];
  await db.sql.begin(async (tx) => {
    await tx`select from org_counters where org_id = ${org.orgId} for update`;
    released.push(world.posts.releaseOverLimit(org.orgId, id, quota));
    await eventually('it waits to be counted', async () => {
      return (await waitingOnLock(db.sql)) === 1;
    });
    await world.posts.editPost(org.orgId, id, { publishDate, recurrence: null });
  });
  const [outcome] = await Promise.allSettled(released);
  expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'paused', publishDate });
  expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'busy' } });
  expect(await used()).toBe(1);
  await lookAgain();
  expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'scheduled', publishDate, dueAt: publishDate });
  expect((await world.posts.getPost(org.orgId, id))[0]!.recurrence).toBeNull();
  expect(await used()).toBe(2);
});

test.each(['with room', 'without room'])(
  'what waited until its date and its series were over is missed %s, uncounted, and is not sent again [S120]',
  async (room) => {
    const id = await overLimit();
    await db.sql`
      update posts
      set publish_date = publish_date - interval '4 days', due_at = null,
        recurrence = jsonb_set(recurrence, '{left}', '1')
      where id = ${id}`;
    if (room === 'with room') await allow(5);
    await lookAgain();
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'ERROR', detail: 'missed', dueAt: null });
    expect(await kinds(id)).toContain(
      'failed: The plan had no room for this post until the dates of its series were over',
    );
    const items = await db.sql`select detail, error_kind as kind from posts where root_post_id = ${id}`;
    expect(items).toEqual([{ detail: 'missed', kind: 'missed' }]);
    expect(await db.sql`select payload from outbox where topic = 'post.failed' and entity_id = ${id}`).toEqual([
      { payload: expect.objectContaining({ detail: 'missed', errorKind: 'billing_required', retryable: false }) },
    ]);
    expect(await used()).toBe(1);
    await world.reconciler.sweep(); // there is no successor
    expect(await lookAgain()).toMatchObject({ series: 0 });
    const post = postActorOf(world, org.orgId, id);
    await expect(post.retry({ confirm: true })).rejects.toMatchObject({ code: 'limit_exceeded' });
    await expect(post.setStatus({ status: 'schedule' })).rejects.toMatchObject({ code: 'limit_exceeded' });
  },
);

describe('where posts need approval', () => {
  const threadOf = (id: string) => db.sql`
    select state, detail, due_at as due, on_brake as braked
    from posts
    where deleted_at is null and (id = ${id} or root_post_id = ${id})
    order by seq`;
  const asked = (id: string) =>
    db.sql`select payload->>'by' as by from outbox where topic = 'post.approval_requested' and entity_id = ${id}`;
  const approve = (id: string) =>
    world.posts.approvePost(org.orgId, id, { by: { userId: org.userId, schedulesFreely: true } });
  const HELD = { state: 'DRAFT', detail: 'awaiting_approval', due: null, braked: false };

  test('a post without room waits for room first, then for approval, and counts once [S120, S121]', async () => {
    const id = await overLimit({ hold: true });
    expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'paused', errorKind: 'billing_required' });
    expect(await asked(id)).toEqual([]);
    await expect(approve(id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await used()).toBe(1);
    await allow(2);
    await lookAgain();
    expect(await threadOf(id)).toEqual([HELD, HELD]);
    expect(await stateOf(db.sql, id)).toMatchObject({ errorKind: null, error: null });
    expect(await asked(id)).toHaveLength(1);
    expect(await db.sql`select from outbox where topic = 'post.resumed' and entity_id = ${id}`).toHaveLength(0);
    expect((await kinds(id)).slice(-2)).toEqual([
      'resumed: The plan has room for this post',
      'approval_requested: Waits for approval',
    ]);
    expect(await used()).toBe(2);
    await approve(id);
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', errorKind: null });
    expect(await used()).toBe(2);
  });

  test('a post that waits for room and is edited by who needs approval is held when there is some [S120, S121]', async () => {
    const id = await overLimit();
    await approvalOf('members');
    const post = postActorOf(world, org.orgId, id);
    const by = { userId: org.userId, schedulesFreely: false };
    await post.edit({ content: '<p>other</p>', by });
    expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'paused', errorKind: 'billing_required' });
    await expect(approve(id)).rejects.toMatchObject({ code: 'limit_exceeded' });
    await expect(
      world.posts.rejectPost(org.orgId, id, { by: { ...by, schedulesFreely: true }, reason: 'No' }),
    ).rejects.toMatchObject({ code: 'limit_exceeded' });
    await post.edit({ content: '<p>another</p>', by: { ...by, schedulesFreely: true } });
    expect(await stateOf(db.sql, id)).toMatchObject({ detail: 'paused', errorKind: 'billing_required' });
    const [, item] = await world.posts.getPost(org.orgId, id);
    await world.posts.removePost(org.orgId, item!.id, by);
    expect(await asked(id)).toEqual([]);
    expect(await used()).toBe(1);
    await allow(2);
    await lookAgain();
    expect(await threadOf(id)).toEqual([HELD]);
    expect(await asked(id)).toEqual([{ by: org.userId }]);
    expect(await used()).toBe(2);
  });

  test('a post without room that was approved goes on unasked [S120, S121]', async () => {
    const id = await overLimit();
    await db.sql`update posts set approval_state = 'approved', approval_hash = 'x' where id = ${id}`;
    await approvalOf('all');
    await allow(2);
    await lookAgain();
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
  });
});

test('items that a person puts behind a post without room go on with it [S120, S109]', async () => {
  const id = await overLimit();
  const thread = [{ id: newPost(org.channelId).id, content: '<p>two</p>', media: [], delayMinutes: 0 }];
  await world.posts.editPost(org.orgId, id, { thread });
  await allow(2);
  await lookAgain();
  expect(await stateOf(db.sql, thread[0]!.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', dueAt: null });
});
