// oxlint-disable max-lines -- one database and one network serve all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId, ProviderError, systemClock, tenantKey } from '../../../../src/platform/kernel/index.ts';
import { CALL_MS } from '../../../../src/publishing/posts/rules.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { gate } from '../../../support/wire/eventually.ts';
import {
  admit,
  channelActorOf,
  clockWhere,
  newPost,
  openNetwork,
  type Network,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { setReadOnly } from '../../../support/processes/read-only.ts';
import { settles } from '../../../support/wire/settles.ts';

let db: TestDatabase;
let network: Network;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

/** A fresh process and network for one test. */
async function start(options: Partial<Parameters<typeof startPublisher>[0]> = {}) {
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, ...options });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const soon = (ms: number) => systemClock.in(ms);

test('a due post is published, with its facts in one commit [PO2, PO3, PO4]', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, {
    publishDate: soon(2_000),
    content: '<p>Hi &amp; <a href="https://a.example/x">there</a></p>',
    settings: { who: 'all' },
  });
  await admit(world, orgId, [post]);
  const [before] = await db.sql`select state, detail, publish_date > now() as early from posts where id = ${post.id}`;
  // a machine that stands still finds it due
  if (before!['early']) expect(before).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({
    state: 'PUBLISHED',
    detail: null,
    releaseId: `r-${post.id}`,
    attempt: 1,
  });
  expect(network.asked).toHaveLength(1);
  expect(network.asked[0]).toMatchObject({ text: 'Hi & there (https://a.example/x)', settings: { who: 'all' } });
  expect(network.asked[0]!.at).toBeGreaterThanOrEqual(post.publishDate!.getTime());
  expect(
    (await db.sql`select kind from post_timeline where post_id = ${post.id} order by id`).map(({ kind }) => kind),
  ).toEqual(['created', 'claimed', 'published']);
  expect(
    (await db.sql`select topic from outbox where entity_id = ${post.id} order by id`).map(({ topic }) => topic),
  ).toEqual(['post.scheduled', 'post.published']);
  await settles(async () =>
    expect(await db.sql`select slot_incarnation, next_due_at from channels where id = ${channelId}`).toEqual([
      { slot_incarnation: null, next_due_at: null },
    ]),
  );
});

test('settings of a post override those of its channel, key by key', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  await db.sql`update channels set settings = '{"who": "friends", "reply": "none"}' where id = ${channelId}`;
  await admit(world, orgId, [newPost(channelId, { settings: { who: 'all' } })]);
  await settled(db.sql, orgId);
  expect(network.asked).toMatchObject([{ settings: { who: 'all', reply: 'none' } }]);
});

test('a wave over many channels publishes each post once: in order, none early, one in flight per channel', async () => {
  await using _running = await start();
  network.latencyMs = 5;
  const orgs = await Promise.all([seedOrg(db.sql, 20), seedOrg(db.sql, 5)]);
  const due = soon(800);
  const all = orgs.flatMap(({ orgId, channelIds }) =>
    channelIds.flatMap((channelId) =>
      Array.from({ length: 8 }, (_, n) => ({
        orgId,
        post: newPost(channelId, { content: `post ${n}`, publishDate: new Date(due.getTime() + n) }),
      })),
    ),
  );
  // Of each channel one after the other: only what is there when the next one is due can go before it.
  for (let n = 0; n < 8; n++)
    await Promise.all(all.filter((_, at) => at % 8 === n).map(({ orgId, post }) => admit(world, orgId, [post])));
  for (const { orgId } of orgs) await settled(db.sql, orgId);
  expect(network.taken).toHaveLength(all.length);
  expect(new Set(network.taken.map(({ postId }) => postId)).size).toBe(all.length);
  expect(network.mostAtOnce).toBe(1);
  for (const { channelIds } of orgs)
    for (const channelId of channelIds)
      expect(network.taken.filter((one) => one.channelId === channelId).map(({ text }) => text)).toEqual(
        Array.from({ length: 8 }, (_, n) => `post ${n}`),
      );
  const planned = new Map(all.map(({ post }) => [post.id, post.publishDate!.getTime()]));
  expect(network.asked.filter(({ postId, at }) => at < planned.get(postId)!)).toEqual([]);
});

test('a repeated admit inserts nothing twice, and a foreign channel stores nothing [GN2]', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  const other = await seedOrg(db.sql);
  const posts = [newPost(channelId, { state: 'DRAFT' }), newPost(channelId, { state: 'DRAFT' })];
  await Promise.all([admit(world, orgId, posts), admit(world, orgId, posts)]);
  await admit(world, orgId, posts);
  const [counted] = await db.sql`
      select (select count(*)::int from posts where org_id = ${orgId}) as posts,
        (select count(*)::int from post_timeline where org_id = ${orgId}) as told`;
  expect(counted).toEqual({ posts: 2, told: 2 });
  await expect(admit(world, orgId, [newPost(channelId), newPost(other.channelId)])).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'Integration not found',
  });
  expect(await db.sql`select count(*)::int as n from posts where org_id = ${orgId}`).toEqual([{ n: 2 }]);
});

test('creates of one batch are admitted separately: an invalid one fails alone', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  const answers = await Promise.allSettled([
    admit(world, orgId, [newPost(channelId, { state: 'DRAFT' })]),
    admit(world, orgId, [newPost(newId())]),
    admit(world, orgId, [newPost(channelId, { state: 'DRAFT', id: 'no-uuid' })]),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await db.sql`select count(*)::int as n from posts where org_id = ${orgId}`).toEqual([{ n: 1 }]);
});

test('the idempotency key is settled in the commit of the create, and a lost claim on it stores nothing', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  const claim = newId();
  await db.sql`
    insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until)
    values (${orgId}, 'POST /posts', 'k', '\\x00', ${claim}, now() + interval '1 minute')`;
  const idempotency = { scope: 'POST /posts', key: 'k', claim, status: 201, reply: '[{"postId":"x"}]' };
  await expect(
    admit(world, orgId, [newPost(channelId, { state: 'DRAFT' })], { idempotency: { ...idempotency, claim: newId() } }),
  ).rejects.toMatchObject({
    code: 'idempotency_in_flight',
  });
  await expect(admit(world, orgId, [newPost(newId())], { idempotency })).rejects.toMatchObject({
    code: 'invalid_request',
  });
  expect(await db.sql`select status from idempotency_keys where org_id = ${orgId}`).toEqual([{ status: null }]);
  const post = newPost(channelId, { state: 'DRAFT' });
  await admit(world, orgId, [post], { idempotency });
  await admit(world, orgId, [post], { idempotency }); // the engine may repeat a call
  expect(await db.sql`select status, reply from idempotency_keys where org_id = ${orgId}`).toEqual([
    { status: 201, reply: '[{"postId":"x"}]' },
  ]);
  expect(await db.sql`select count(*)::int as n from posts where org_id = ${orgId}`).toEqual([{ n: 1 }]);
});

test('a second nudge of a busy channel finds the slot taken', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  network.latencyMs = 150;
  await admit(world, orgId, [newPost(channelId), newPost(channelId)]);
  await Promise.all(Array.from({ length: 20 }, () => channelActorOf(world, orgId, channelId).wake({})));
  await settled(db.sql, orgId);
  expect(network.taken).toHaveLength(2);
  expect(network.mostAtOnce).toBe(1);
});

describe('failures of a publish', () => {
  const failing = (failure: ConstructorParameters<typeof ProviderError>[0], retryAfterMs?: number) => async () => {
    throw new ProviderError(failure, `it was ${failure}`, { retryAfterMs });
  };

  test.each([
    ['rejected', 'validation'],
    ['unsupported', 'unsupported'],
    ['exhausted', 'billing_required'],
  ] as const)('%s is final: ERROR with %s, and the next post is published', async (failure, errorKind) => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    const [bad, good] = [newPost(channelId, { content: 'bad' }), newPost(channelId)];
    network.behave = async (post, _sent, accept) => (post.text === 'bad' ? failing(failure)() : accept());
    await admit(world, orgId, [bad, good]);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, bad.id)).toMatchObject({
      state: 'ERROR',
      detail: null,
      errorKind,
      error: `it was ${failure}`,
      attempt: 1,
    });
    expect(await stateOf(db.sql, good.id)).toMatchObject({ state: 'PUBLISHED' });
    const [event] = await db.sql`select payload from outbox where entity_id = ${bad.id} and topic = 'post.failed'`;
    expect(event!['payload']).toMatchObject({ errorKind, attempts: 1, retryable: false });
  });

  test('a retryable failure is retried after the delay that the network asked for, and frees the channel meanwhile', async () => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    const [late, other] = [newPost(channelId, { content: 'late' }), newPost(channelId, { content: 'other' })];
    let refused = 0;
    network.behave = async (post, _sent, accept) =>
      post.text === 'late' && refused++ === 0 ? failing('unavailable', 60_000)() : accept();
    await admit(world, orgId, [late, other]);
    await settled(db.sql, orgId, { details: ['retrying'] });
    const { dueAt } = await stateOf(db.sql, late.id);
    expect(dueAt!.getTime() - network.asked[0]!.at).toBeGreaterThanOrEqual(59_990); // the two clocks round
    await settles(async () => {
      const [reminder] =
        await db.sql`select due_at from actor_reminders where type = 'Channel' and id = ${tenantKey(orgId, channelId)}`;
      expect(Math.abs((reminder!['due_at'] as Date).getTime() - dueAt!.getTime())).toBeLessThan(10_000);
    });
    await db.sql`update posts set due_at = now() where id = ${late.id}`; // the time has come
    await channelActorOf(world, orgId, channelId).wake({});
    await settled(db.sql, orgId);
    expect(network.taken.map(({ text }) => text)).toEqual(['other', 'late']);
    expect(await stateOf(db.sql, late.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2, errorKind: null });
    expect(
      (await db.sql`select kind from post_timeline where post_id = ${late.id} order by id`).map(({ kind }) => kind),
    ).toEqual(['created', 'claimed', 'retry_planned', 'claimed', 'published']);
  });

  test('a refused login pauses the posts of the channel and keeps them', async () => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    network.behave = failing('reauthorize');
    const posts = [newPost(channelId), newPost(channelId, { publishDate: soon(60_000) })];
    await admit(world, orgId, posts);
    await settled(db.sql, orgId, { details: ['paused'] });
    expect(await db.sql`select refresh_needed, slot_incarnation from channels where id = ${channelId}`).toEqual([
      { refresh_needed: true, slot_incarnation: null },
    ]);
    const later = newPost(channelId);
    await admit(world, orgId, [later]);
    expect(await stateOf(db.sql, later.id)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
    expect(network.asked).toHaveLength(1);
  });

  test('an unreadable answer and a throwing adapter count as a lost answer', async () => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    network.behave = async (post, _sent, accept) => {
      accept();
      if (post.text === 'breaks') throw new TypeError('cannot read properties of undefined');
      return { nothing: true } as never;
    };
    const posts = [newPost(channelId, { content: 'garbage' }), newPost(channelId, { content: 'breaks' })];
    await admit(world, orgId, posts);
    await settled(db.sql, orgId);
    for (const { id } of posts)
      expect(await stateOf(db.sql, id)).toMatchObject({ state: 'PUBLISHED', releaseId: `r-${id}` });
    expect(network.asked).toHaveLength(2);
  });

  test('a network that never answers blocks its own channel only, and its post is looked up', async () => {
    await using _running = await start({ clock: clockWhere((ms) => (ms === CALL_MS ? 400 : ms)) });
    const {
      orgId,
      channelIds: [slow, quick],
    } = await seedOrg(db.sql, 2);
    network.behave = async (_post, sent, accept) => {
      const release = accept();
      if (sent.channelId === slow) await systemClock.sleep(1_500);
      return release;
    };
    const [hung, next, other] = [newPost(slow!), newPost(slow!, { content: 'next' }), newPost(quick!)];
    await admit(world, orgId, [hung, next, other]);
    await settled(db.sql, orgId);
    expect(network.taken.map(({ postId }) => postId).toSorted()).toEqual([hung.id, next.id, other.id].toSorted());
    expect(await stateOf(db.sql, hung.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
  });

  test('the last retry ends in a final failure', async () => {
    await using _running = await start();
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId, { publishDate: soon(3_600_000) });
    network.behave = failing('unavailable');
    await admit(world, orgId, [post]);
    await db.sql`update posts set attempts_failed = 6, publish_date = now(), due_at = now() where id = ${post.id}`;
    await channelActorOf(world, orgId, channelId).wake({});
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'ERROR', errorKind: 'network' });
  });
});

test('the answer of a network is written once the database is back, however long that takes, and nothing is sent twice', async () => {
  network = openNetwork();
  const pauses = [100, 200, 400, 800, 1_600, 3_200, 5_000]; // between two tries to write a result
  const hurried = clockWhere((ms) => (pauses.includes(ms) ? ms / 200 : ms));
  world = await startPublisher({ url: db.url, network, clock: hurried });
  await using _running = { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
  const { passed, open } = gate();
  network.once = 'at-most-once'; // nobody could look it up
  network.behave = async (_post, _sent, accept) => passed.then(accept);
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  await admit(world, orgId, [post]);
  await settles(() => expect(network.asked).toHaveLength(1));
  await setReadOnly(db, true);
  open();
  await settles(() =>
    expect(
      world.log.lines.filter(({ message }) => message === 'writing a result failed, repeated').length,
    ).toBeGreaterThan(15),
  );
  await setReadOnly(db, false);
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', releaseId: `r-${post.id}`, attempt: 1 });
  expect(network.asked).toHaveLength(1);
});

test('an accepted edit or deletion is final, however close to the due time, and a refused one changes nothing', async () => {
  await using _running = await start();
  const { orgId, channelIds } = await seedOrg(db.sql, 30);
  const due = soon(600);
  const posts = channelIds.flatMap((channelId) =>
    [0, 1].map(() => newPost(channelId, { content: 'before', publishDate: due })),
  );
  await Promise.all(posts.map((post) => admit(world, orgId, [post])));
  const wishes = await Promise.all(
    posts.map(async ({ id }, n) => {
      await systemClock.sleep(Math.max(0, due.getTime() - Date.now() - 40 + ((n * 7) % 90)));
      const post = postActorOf(world, orgId, id);
      const wish = n % 3 === 0 ? 'edit' : n % 3 === 1 ? 'cancel' : 'later';
      const call =
        wish === 'edit'
          ? post.edit({ content: 'after' })
          : wish === 'cancel'
            ? post.cancel({})
            : post.setDate({ date: soon(3_600_000), action: 'update' });
      const accepted = await call.then(
        () => true,
        (error: { code: string }) => {
          expect(['conflict', 'already_published']).toContain(error.code);
          return false;
        },
      );
      return { id, wish, accepted };
    }),
  );
  await settles(() =>
    expect(network.taken.length).toBeGreaterThanOrEqual(
      wishes.filter(({ wish, accepted }) => wish === 'edit' || !accepted).length,
    ),
  );
  for (const { id, wish, accepted } of wishes)
    expect([wish, accepted, network.taken.filter(({ postId }) => postId === id).map(({ text }) => text)]).toEqual([
      wish,
      accepted,
      !accepted ? ['before'] : wish === 'edit' ? ['after'] : [],
    ]);
});

test('a post moved nearer, or away and back, is published at its last date', async () => {
  await using _running = await start();
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, { publishDate: soon(3_600_000) });
  await admit(world, orgId, [post]);
  const date = soon(500);
  await postActorOf(world, orgId, post.id).setDate({ date: soon(100_000), action: 'schedule' });
  await postActorOf(world, orgId, post.id).setDate({ date, action: 'schedule' });
  await settled(db.sql, orgId);
  expect(network.asked[0]!.at).toBeGreaterThanOrEqual(date.getTime());
  expect(network.asked).toHaveLength(1);
});

test('a post stored while its channel is being scanned is published', async () => {
  let looks = 0;
  network = openNetwork();
  world = await startPublisher({
    url: db.url,
    network,
    onStatement: (text) => void (looks += text.includes('picked as materialized') ? 1 : 0),
  });
  await using _running = world;
  const { orgId, channelId } = await seedOrg(db.sql);
  await admit(world, orgId, [newPost(channelId, { publishDate: soon(3_600_000) })]); // what the look finds first
  const id = newId();
  let looking: ReturnType<typeof world.posts.claimNext> | undefined;
  await db.sql.begin(async (tx) => {
    await tx`
      update channels
      set due_version = due_version + 1, next_due_at = least(next_due_at, now() + interval '20 s')
      where id = ${channelId}`;
    await tx`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      values (${id}, ${orgId}, ${channelId}, 'g', 'QUEUE', 'scheduled', 'x', now() + interval '20 s',
        now() + interval '20 s')`;
    looks = 0;
    // its snapshot does not show the post, and the channel's row is locked
    looking = world.posts.claimNext(orgId, channelId);
    await settles(async () => expect(looks).toBeGreaterThan(1));
  });
  const next = await looking!;
  expect(next.kind === 'early' && next.missingMs).toBeLessThanOrEqual(20_000);
  const [row] =
    await db.sql`select next_due_at < now() + interval '21 s' as near from channels where id = ${channelId}`;
  expect(row).toEqual({ near: true });
});
