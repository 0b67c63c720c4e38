import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock, tenantKey } from '../../../../src/platform/kernel/index.ts';
import { HEARTBEAT_TIMEOUT_MS } from '../../../../src/publishing/posts/rules.ts';
import { takeOverSlots } from '../../../../src/publishing/posts/dispatch/recover.ts';
import { emptyTables, testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { gate } from '../../../support/wire/eventually.ts';
import {
  admit,
  channelActorOf,
  clockWhere,
  newPost,
  openNetwork,
  type Network,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { settles } from '../../../support/wire/settles.ts';

let db: TestDatabase;
let network: Network;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

async function start(options: Partial<Parameters<typeof startPublisher>[0]> = {}) {
  await emptyTables(db.sql, 'organizations', 'actor_reminders', 'leases');
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, ...options });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const sql = () => db.sql;
/** Takes a post as another host would, and leaves it there. */
async function takenBy(
  incarnation: string,
  orgId: string,
  channelId: string,
  postId: string,
  { untilMs = 60_000 } = {},
) {
  await sql()`update posts set detail = 'publishing', attempt = attempt + 1, incarnation = ${incarnation}, claimed_at = now() where id = ${postId}`;
  await sql()`update channels set slot_incarnation = ${incarnation}, slot_post_id = ${postId}, slot_until = now() + ${untilMs}::float8 * interval '1 ms' where id = ${channelId} and org_id = ${orgId}`;
}
const writeHeartbeat = (incarnation: string, ageMs: number) => sql()`
  insert into actor_hosts (incarnation, engine, address, types, last_heartbeat) values (${incarnation}, 'embedded', '', '{}', now() - ${ageMs}::float8 * interval '1 ms')
  on conflict (incarnation) do update set last_heartbeat = excluded.last_heartbeat`;
const draft = (channelId: string) => newPost(channelId, { publishDate: systemClock.in(3_600_000) });
/** A post that another host has claimed. */
async function abandoned(ageMs: number) {
  const { orgId, channelId } = await seedOrg(sql());
  const post = draft(channelId);
  await admit(world, orgId, [post]);
  const other = randomUUID();
  await writeHeartbeat(other, ageMs);
  await takenBy(other, orgId, channelId, post.id);
  return { orgId, channelId, post, other };
}

test('the slot of a host silent for five seconds is taken over, and its post looked up', async () => {
  await using _running = await start();
  const { orgId, channelId, post, other } = await abandoned(6_000);
  network.taken.push({ channelId, postId: post.id, text: '' }); // it had gone out
  expect(await world.reconciler.sweep()).toMatchObject({ takenOver: 1 });
  await settled(sql(), orgId);
  expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'PUBLISHED', releaseId: `r-${post.id}`, attempt: 1 });
  expect(network.asked).toEqual([]);
  expect((await sql()`select incarnation from posts where id = ${post.id}`)[0]!['incarnation']).not.toBe(other);
});

test('a host silent for less than five seconds keeps its slot', async () => {
  await using _running = await start();
  const { post, other } = await abandoned(1_000);
  await db.sql.begin(async (tx) => {
    // the clock of the database stands still: it has been silent for so long, however long this takes
    await tx`update actor_hosts set last_heartbeat = now() - interval '4.9 s' where incarnation = ${other}`;
    expect(
      await takeOverSlots(tx, {
        incarnation: randomUUID(),
        silenceMs: HEARTBEAT_TIMEOUT_MS,
        leaseMs: 60_000,
        limit: 500,
      }),
    ).toEqual([]);
  });
  await writeHeartbeat(other, 0);
  expect(await world.reconciler.sweep()).toMatchObject({ takenOver: 0 });
  expect(await stateOf(sql(), post.id)).toMatchObject({ detail: 'publishing' });
});

test('writes of a replaced host are refused [R7]', async () => {
  await using _running = await start();
  const { orgId, channelId, post, other } = await abandoned(6_000);
  network.settlesWithinMs = 60_000;
  await world.reconciler.sweep();
  const zombie = {
    orgId,
    channelId,
    postId: post.id,
    attempt: 1,
    incarnation: other,
    attemptsFailed: 0,
    lookUps: 0,
  } as never;
  await world.posts.settleAttempt(zombie, { kind: 'published', release: { id: 'zombie', url: '' } });
  expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'QUEUE', detail: 'unconfirmed', releaseId: null });
});

test('a slot past its deadline is taken over though its host lives, also with an unconfirmed post', async () => {
  await using _running = await start();
  const { orgId, channelId, post, other } = await abandoned(0);
  const next = newPost(channelId);
  await admit(world, orgId, [next]);
  network.settlesWithinMs = 60_000; // whatever is asked: nobody knows yet
  await takenBy(other, orgId, channelId, post.id, { untilMs: -1 });
  expect(await world.reconciler.sweep()).toMatchObject({ takenOver: 1 });
  expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'QUEUE', detail: 'unconfirmed' });
  await systemClock.sleep(200);
  expect(await stateOf(sql(), next.id)).toMatchObject({ detail: 'scheduled' });
  await sql()`update channels set slot_until = now() - interval '1 s' where id = ${channelId}`;
  expect(await world.reconciler.sweep()).toMatchObject({ takenOver: 1 });
  await settled(sql(), orgId, { details: ['unconfirmed'] });
  expect(network.taken.map(({ postId }) => postId)).toEqual([next.id]);
});

test('an unconfirmed post of a dead host keeps its channel until it is resolved', async () => {
  await using _running = await start();
  const { orgId, channelId, post } = await abandoned(6_000);
  const next = newPost(channelId);
  await admit(world, orgId, [next]);
  await sql()`update posts set detail = 'unconfirmed', look_up_at = now() where id = ${post.id}`;
  network.settlesWithinMs = 1_500;
  expect(await world.reconciler.sweep()).toMatchObject({ takenOver: 0 });
  await systemClock.sleep(300);
  expect(await stateOf(sql(), next.id)).toMatchObject({ detail: 'scheduled' });
  await sql()`update posts set look_up_at = now() - interval '6 s' where id = ${post.id}`;
  expect(await world.reconciler.sweep()).toMatchObject({ takenOver: 0, asked: 1 });
  await settled(sql(), orgId, { details: ['retrying'] });
  // absent: due again, but after what was due before it
  expect(await stateOf(sql(), post.id)).toMatchObject({ detail: 'retrying' });
  expect(network.taken.map(({ postId }) => postId)).toEqual([next.id]);
});

test('without a lookup a claimed but unsent post is sent, and one that may have been sent waits for a person', async () => {
  await using _running = await start();
  network.once = 'at-most-once';
  const waiting = await abandoned(6_000);
  const calling = await abandoned(6_000);
  await sql()`update posts set request_sent_at = now() where id = ${calling.post.id}`;
  await world.reconciler.sweep();
  await settled(sql(), calling.orgId);
  expect(await stateOf(sql(), calling.post.id)).toMatchObject({ state: 'ERROR', detail: 'unconfirmed' });
  await sql()`update posts set publish_date = now(), due_at = now() where id = ${waiting.post.id}`;
  await channelActorOf(world, waiting.orgId, waiting.channelId).wake({});
  await settled(sql(), waiting.orgId);
  expect(network.taken.map(({ postId }) => postId)).toEqual([waiting.post.id]);
});

test('a channel with a lost reminder is nudged five seconds after its due time [R6]', async () => {
  await using _running = await start();
  const { orgId, channelIds } = await seedOrg(sql(), 30);
  const posts = channelIds.map(draft);
  await Promise.all(posts.map((post) => admit(world, orgId, [post])));
  await sql()`delete from actor_reminders`;
  await sql()`update posts set publish_date = now() - interval '6 s', due_at = now() - interval '6 s'`;
  // registered, and lost: else the sweep registers them first, and they fire at once
  await sql()`update channels set next_due_at = now(), reminder_due_at = now()`;
  expect(await world.reconciler.sweep()).toMatchObject({ woken: 0, entered: 0 });
  await sql()`update channels set next_due_at = now() - interval '6 s', reminder_due_at = now() - interval '6 s'`;
  await sql()`update channels set disabled = true where id = ${channelIds[0]!}`;
  expect(await world.reconciler.sweep()).toMatchObject({ woken: 29 });
  await settles(() => expect(network.taken).toHaveLength(29));
});

test('a reminder is registered once, when its time comes within the horizon', async () => {
  await using _running = await start({ horizonMs: 600_000 });
  const { orgId, channelId } = await seedOrg(sql());
  await admit(world, orgId, [newPost(channelId, { publishDate: systemClock.in(1_200_000) })]);
  const reminders = () => sql()`select name from actor_reminders where id = ${tenantKey(orgId, channelId)}`;
  expect(await reminders()).toEqual([]);
  expect(await world.reconciler.sweep()).toMatchObject({ entered: 0 });
  await sql()`update posts set publish_date = now() + interval '9 minutes', due_at = now() + interval '9 minutes'`;
  await sql()`update channels set next_due_at = now() + interval '9 minutes' where id = ${channelId}`;
  expect(await world.reconciler.sweep()).toMatchObject({ entered: 1 });
  expect(await reminders()).toEqual([{ name: 'due' }]);
  expect(await world.reconciler.sweep()).toMatchObject({ entered: 0 });
});

test('a post that is added between a claim and its reminder keeps the earlier due time', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(sql());
  await admit(world, orgId, [newPost(channelId, { publishDate: systemClock.in(7_200_000) })]);
  const added = newPost(channelId, { publishDate: systemClock.in(3_600_000) });
  const { posts } = world.context;
  const { claimNext } = posts;
  let claimed = 0;
  Object.assign(posts, {
    claimNext: async (...key: Parameters<typeof claimNext>) => {
      const next = await claimNext(...key);
      if (++claimed === 1) await admit(world, orgId, [added]); // its reminder is set in its commit
      return next;
    },
  });
  await channelActorOf(world, orgId, channelId).wake({});
  expect(claimed).toBe(1);
  expect(await sql()`select due_at from actor_reminders where id = ${tenantKey(orgId, channelId)}`).toEqual([
    { due_at: added.publishDate },
  ]);
});

test('a lookup with a lost reminder is repeated [R6]', async () => {
  await using _running = await start();
  const { orgId, channelId, post } = await abandoned(0);
  network.taken.push({ channelId, postId: post.id, text: '' });
  await sql()`update posts set detail = 'unconfirmed', look_up_at = now() - interval '6 s' where id = ${post.id}`;
  expect(await world.reconciler.sweep()).toMatchObject({ asked: 1 });
  await settled(sql(), orgId);
  expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'PUBLISHED' });
});

test('only one process sweeps at a time', async () => {
  await using _running = await start();
  await sql()`insert into leases (name, holder, expires_at) values ('reconciler', 'another', now() + interval '1 minute')`;
  expect(await world.reconciler.sweep()).toBeUndefined();
  await sql()`update leases set expires_at = now()`;
  expect(await world.reconciler.sweep()).toBeDefined();
});

test('a host whose own heartbeat is older than four seconds sends nothing and returns its posts [R7]', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(sql());
  const { heartbeatAgeMs } = world.engine;
  Object.assign(world.engine, { heartbeatAgeMs: () => 4_001 });
  const post = newPost(channelId);
  await admit(world, orgId, [post]);
  await settles(async () =>
    expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', attempt: 1 }),
  );
  expect(network.asked).toEqual([]);
  Object.assign(world.engine, { heartbeatAgeMs });
  await channelActorOf(world, orgId, channelId).wake({});
  await settled(sql(), orgId);
  expect(network.asked).toHaveLength(1);
});

test('a drain returns waiting posts, gives those being sent their time, and leaves the rest unconfirmed', async () => {
  const patience = gate();
  const drainMs = 8_000;
  const patient = clockWhere((ms) => (ms === drainMs ? patience.passed : ms));
  // one organization has two of them
  await using _running = await start({ env: { PROVIDER_CALLS_IN_FLIGHT: '3' }, clock: patient });
  const { orgId, channelIds } = await seedOrg(sql(), 4);
  const posts = channelIds.map((channelId) => newPost(channelId));
  const [inTime, tooLate] = [gate(), gate()];
  network.behave = async (post, _sent, accept) => {
    await (post.id === network.asked[0]!.postId ? inTime : tooLate).passed;
    return accept();
  };
  await Promise.all(posts.map((post) => admit(world, orgId, [post])));
  await settles(() => expect(network.asked).toHaveLength(2));
  const gone = world.posts.drainPosts();
  inTime.open();
  const [quick, slow] = network.asked.map(({ postId }) => postId);
  await settles(async () => expect(await stateOf(sql(), quick!)).toMatchObject({ state: 'PUBLISHED' }));
  patience.open();
  await gone;
  const held = await sql()`select slot_post_id from channels where org_id = ${orgId} and slot_incarnation is not null`;
  expect(held).toEqual([{ slot_post_id: slow }]);
  for (const { id } of posts) {
    const { state, detail } = await stateOf(sql(), id);
    expect(`${state} ${detail}`).toBe(
      id === quick ? 'PUBLISHED null' : id === slow ? 'QUEUE unconfirmed' : 'QUEUE scheduled',
    );
  }
  tooLate.open(); // an answer that comes too late is still true
  await settles(async () =>
    expect(await stateOf(sql(), slow!)).toMatchObject({ state: 'PUBLISHED', releaseId: `r-${slow}` }),
  );
  expect(network.asked).toHaveLength(2);
});

test('a drain hands back a post whose files are still uploaded, and the next host goes on where that was', async () => {
  const patience = gate();
  const [begun, cut] = [gate(), gate()];
  const patient = clockWhere((ms) => (ms === 8_000 ? patience.passed : ms));
  let post: ReturnType<typeof newPost>;
  let [orgId, channelId] = ['', ''];
  {
    await using _leaving = await start({ clock: patient });
    ({ orgId, channelId } = await seedOrg(sql()));
    post = newPost(channelId);
    network.prepare = async (_post, handle) => {
      if (handle.saved) return 'ready';
      await handle.save({ parts: 1 });
      begun.open();
      await cut.passed;
      return 'ready';
    };
    await admit(world, orgId, [post]);
    await begun.passed;
    const gone = world.posts.drainPosts();
    patience.open();
    await gone;
    expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', error: null });
  }
  await using next = await startPublisher({ url: db.url, network });
  await channelActorOf(next, orgId, channelId).wake({}); // as the reconciler does
  await settled(sql(), orgId);
  cut.open(); // the upload of the host that went away comes to its end, and publishes nothing
  expect(await stateOf(sql(), post.id)).toMatchObject({ state: 'PUBLISHED' });
  expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ parts: 1 }]);
  expect(network.looks).toBe(0);
});
