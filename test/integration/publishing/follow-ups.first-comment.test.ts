// oxlint-disable max-lines -- one database serves all cases
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { gate } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import {
  abandon,
  type BelowPosts,
  belowPosts,
  followUpsOf,
  lostAnswer,
  makeDue,
  told,
} from '../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  clockWhere,
  newPost,
  openNetwork,
  type Network,
  openPublishing,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../support/worlds/publishing/world.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

// The first comment of a post: after its publication, once, whatever dies or is lost on the way.

let db: TestDatabase;
let network: Network;
let world: Publisher;
let below: BelowPosts;
beforeAll(async () => {
  db = await testDatabase();
  network = openNetwork();
  world = await startPublisher({ url: db.url, network });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => {
  network.behave = undefined;
  network.declares = {};
  below = belowPosts(network);
});

const withComment = { settings: { firstComment: '<p>First & foremost</p>' } };
/** A post whose first comment does what it is told to. */
async function publishWith(behave?: BelowPosts['behave'], more = {}) {
  below.behave = behave;
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, { ...withComment, ...more });
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  return { orgId, channelId, post };
}
const firstOf = async (postId: string) => (await followUpsOf(db.sql, postId))[0]!;
const untilState = (postId: string, state: string, more: { attempt?: number } = {}) =>
  settles(async () => expect(await firstOf(postId)).toMatchObject({ state, incarnation: null, ...more }));
/** It was tried once, and waits. */
const untilTried = (postId: string, attempt = 1) => untilState(postId, 'waiting', { attempt });
const shown = async (orgId: string, postId: string) => (await world.posts.getPost(orgId, postId))[0]!;
const madeFor = (post: { id: string }) => below.made.filter((one) => one.below === `r-${post.id}`);
const factsOf = async (postId: string, topic: string) =>
  (
    await db.sql<{ payload: { error: string | null } }[]>`
    select payload from outbox where entity_id = ${postId} and topic = ${topic}`
  ).map(({ payload }) => payload);

test('is posted below the root by the channel of the post, and the post tells of it [S99, S117, PO1, PO6]', async () => {
  const { orgId, channelId, post } = await publishWith();
  await untilState(post.id, 'done');
  expect(madeFor(post)).toEqual([
    {
      kind: 'comment',
      account: channelId,
      id: (await firstOf(post.id)).id,
      below: `r-${post.id}`,
      of: channelId,
      text: 'First & foremost',
    },
  ]);
  const row = await shown(orgId, post.id);
  expect(row.firstComment).toEqual({ state: 'posted', error: null });
  expect(row.firstCommentPostedAt!.getTime()).toBeGreaterThanOrEqual(row.publishedAt!.getTime());
  expect(await told(db.sql, post.id, 'first_comment')).toEqual(['The first comment is out']);
  expect(await factsOf(post.id, 'first_comment.posted')).toMatchObject([{ channelId, error: null }]);
});

test('waits for nothing that the event post.published waits for: it is announced while the comment hangs [S230]', async () => {
  const open = gate();
  const { orgId, post } = await publishWith((_, accept) => open.passed.then(accept));
  await settles(() => expect(below.asked.some((one) => one.below === `r-${post.id}`)).toBe(true));
  expect(await factsOf(post.id, 'post.published')).toHaveLength(1);
  expect((await shown(orgId, post.id)).firstComment).toEqual({ state: 'pending', error: null });
  open.open();
  await untilState(post.id, 'done');
});

test('a post without one has no row, and a blank one asks for nothing [PO6]', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const posts = [{}, { firstComment: ' \n' }, { firstComment: false }].map((settings) =>
    newPost(channelId, { settings }),
  );
  await admit(world, orgId, posts);
  await settled(db.sql, orgId);
  for (const { id } of posts) {
    expect(await followUpsOf(db.sql, id)).toEqual([]);
    expect((await shown(orgId, id)).firstComment).toEqual({ state: 'none', error: null });
  }
});

test('a network without comments posts none, and the post is published all the same [PO7]', async () => {
  network.declares = {};
  const { orgId, post } = await publishWith();
  await untilState(post.id, 'none');
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED' });
  expect(await shown(orgId, post.id)).toMatchObject({ firstComment: { state: 'none' }, firstCommentPostedAt: null });
});

test('one that is refused has failed for good, and the post stays published [PO9]', async () => {
  const { orgId, post } = await publishWith(() => Promise.reject(new ProviderError('rejected', 'No comments here')));
  await untilState(post.id, 'failed');
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', error: null });
  expect((await shown(orgId, post.id)).firstComment).toEqual({ state: 'failed', error: 'No comments here' });
  expect(await factsOf(post.id, 'first_comment.failed')).toMatchObject([{ error: 'No comments here' }]);
});

test('a network that fails is tried again after 1, 5 and 30 minutes, and then no more [PO9]', async () => {
  const { post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Out of order')));
  for (const [n, minutes] of [1, 5, 30].entries()) {
    await untilTried(post.id, n + 1);
    const { waitsMs } = await firstOf(post.id);
    expect(waitsMs).toBeGreaterThan((minutes - 0.5) * 60_000);
    expect(waitsMs).toBeLessThanOrEqual(minutes * 60_000);
    await makeDue(world, post.id);
  }
  await untilState(post.id, 'failed');
  expect(below.asked.filter((one) => one.below === `r-${post.id}`)).toHaveLength(4);
});

describe('a server with limits of its own', () => {
  const takes = (channelId: string, text: number) => db.sql`
    update channels set server_limits = ${JSON.stringify({ text })}::text::jsonb where id = ${channelId}`;
  /** A post whose comment has so many characters, at a network of 100, in a channel whose server takes so many. */
  async function publishAt(text: number, length: number, behave?: BelowPosts['behave']) {
    below.behave = behave;
    const { orgId, channelId } = await seedOrg(db.sql);
    await takes(channelId, text);
    const post = newPost(channelId, { settings: { firstComment: 'x'.repeat(length) } });
    await admit(world, orgId, [post]);
    await settled(db.sql, orgId);
    return { orgId, post };
  }

  test('takes a comment that the network in general does not', async () => {
    const { post } = await publishAt(200, 150);
    await untilState(post.id, 'done');
    expect(madeFor(post)).toMatchObject([{ text: 'x'.repeat(150) }]);
  });

  test('is not asked for a comment that it does not take', async () => {
    const { orgId, post } = await publishAt(20, 50);
    await untilState(post.id, 'failed');
    expect(below.asked.filter((one) => one.below === `r-${post.id}`)).toEqual([]);
    expect((await shown(orgId, post.id)).firstComment.error).toContain('longer than 20 characters');
  });

  test('is asked for a comment whose answer was lost, also when it takes less since', async () => {
    const { post } = await publishAt(200, 150, async ({ account }, accept) => {
      await takes(account, 20);
      accept();
      throw lostAnswer();
    });
    await untilState(post.id, 'done');
    expect(madeFor(post)).toHaveLength(1);
  });
});

describe('a lost answer', () => {
  test('is looked up and adopted: no second comment [PO8]', async () => {
    const { post } = await publishWith(async (_, accept) => {
      accept();
      throw lostAnswer();
    });
    await untilState(post.id, 'done');
    expect(madeFor(post)).toHaveLength(1);
    expect(await firstOf(post.id)).toMatchObject({ attempt: 1 });
    expect(await told(db.sql, post.id, 'first_comment')).toEqual([
      'The answer was lost; the network will be asked',
      'Found on the network',
    ]);
  });

  test('of a comment that the network does not have is followed by another try [PO8]', async () => {
    let calls = 0;
    const { post } = await publishWith(async (_, accept) => {
      if (calls++ === 0) throw lostAnswer();
      return accept();
    });
    await untilState(post.id, 'done');
    expect(madeFor(post)).toHaveLength(1);
    expect(await firstOf(post.id)).toMatchObject({ attempt: 2 });
  });

  test('ends where nobody can be asked: it may be there, and is not tried again [PO8]', async () => {
    below = belowPosts(network, 'at-most-once');
    const { post } = await publishWith(async (_, accept) => {
      accept();
      throw lostAnswer();
    });
    await untilState(post.id, 'failed');
    expect(madeFor(post)).toHaveLength(1);
    expect((await firstOf(post.id)).error).toMatch(/^It may be there/);
  });
});

describe('a host that was killed', () => {
  /** A published post whose first comment a host that is gone had claimed. */
  async function leftBy(options: { sent?: boolean; once?: 'key' | 'at-most-once'; isMade?: boolean }) {
    if (options.once) below = belowPosts(network, options.once);
    const never = () => Promise.reject(new ProviderError('unavailable', 'Later'));
    const { orgId, post } = await publishWith(never);
    await untilTried(post.id);
    below.behave = undefined;
    below.asked.length = 0;
    const { id } = await firstOf(post.id);
    if (options.isMade) below.made.push({ kind: 'comment', account: '', id, below: `r-${post.id}`, text: '' });
    await abandon(db.sql, post.id, options);
    expect((await world.reconciler.sweep())!.followed).toBeGreaterThan(0);
    return { orgId, post };
  }

  test('after the comment had gone out leaves one that is found, never made twice [PO8]', async () => {
    const { post } = await leftBy({ isMade: true });
    await untilState(post.id, 'done');
    expect([madeFor(post).length, below.asked.length]).toEqual([1, 0]);
  });

  test('before it had gone out leaves one that is made by another [PO8]', async () => {
    const { post } = await leftBy({});
    await untilState(post.id, 'done');
    expect([madeFor(post).length, below.asked.length]).toEqual([1, 1]);
  });

  test('at a network that cannot be asked leaves what may be there, once its request may have left [PO8]', async () => {
    const { post } = await leftBy({ once: 'at-most-once', sent: true });
    await untilState(post.id, 'failed');
    expect(below.asked).toEqual([]);
    const unsent = await leftBy({ once: 'at-most-once', sent: false });
    await untilState(unsent.post.id, 'done');
    expect(madeFor(unsent.post)).toHaveLength(1);
  });
});

test('two hosts that race for one comment make one', async () => {
  await using other = await openPublishing({ url: db.url, network, engine: { ...world.beside.engine } });
  await db.sql`
    insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
    values (${other.incarnation}, 'dapr', 'x', '{}', now() + interval '1 hour')`;
  const { orgId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
  await untilTried(post.id);
  below.behave = undefined;
  await db.sql`update post_follow_ups set due_at = now() where post_id = ${post.id}`;
  expect((await other.followUps.claimFollowUps(newId(), post.id)).claimed).toEqual([]); // of another organization
  const claims = await Promise.all(
    [world.context, other, world.context, other].map(({ followUps }) => followUps.claimFollowUps(orgId, post.id)),
  );
  expect(claims.map(({ claimed }) => claimed.length).toSorted()).toEqual([0, 0, 0, 1]);
  for (const [n, claim] of claims.entries()) await (n % 2 ? other : world.context).followUps.runFollowUps(claim);
  expect(madeFor(post)).toHaveLength(1);
});

test('a host whose heartbeats have stopped sends nothing that it has claimed', async () => {
  const silent = { ...noEngine.engine, heartbeatAgeMs: () => 20_000, steadySince: () => 0 };
  await using other = await openPublishing({ url: db.url, network, engine: { ...noEngine, engine: silent } });
  const { orgId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
  await untilTried(post.id);
  below.behave = undefined;
  await db.sql`update post_follow_ups set due_at = now() where post_id = ${post.id}`;
  await other.followUps.runFollowUps(await other.followUps.claimFollowUps(orgId, post.id));
  expect(madeFor(post)).toEqual([]);
  expect(await firstOf(post.id)).toMatchObject({ state: 'waiting', incarnation: null });
});

/** A host of its own, whose looks at whether posts are still ahead are counted. */
async function openBusy(env: Record<string, string> = {}) {
  const looks = { count: 0 };
  const stopped: { atMs?: number } = {};
  const looking = clockWhere((ms) => {
    if (ms === 50) looks.count += 1;
    return ms;
  });
  const clock = { ...looking, monotonic: () => stopped.atMs ?? looking.monotonic() };
  const beats = { heartbeatAgeMs: () => 0, steadySince: () => 0 };
  const engine = { ...noEngine.engine, remindWithin: async () => () => {}, ...beats };
  const busy = await openPublishing({ url: db.url, network, clock, env, engine: { ...noEngine, engine } });
  await db.sql`
    insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
    values (${busy.incarnation}, 'dapr', 'x', '{}', now() + interval '1 hour')`;
  return { busy, looks, stopped };
}
/** Posts that a host has claimed, one of each channel of an organization of their own. */
async function claimEach({ posts }: Pick<Publisher, 'posts'>, channels: number, lateMs = 0) {
  const { orgId, channelIds } = await seedOrg(db.sql, channels);
  await posts.admitPosts(orgId, [{ posts: channelIds.map((id) => newPost(id)), createdBy: orgId }]);
  if (lateMs > 0)
    await db.sql`
      update posts
      set publish_date = publish_date - ${lateMs}::float8 * interval '1 ms',
        due_at = due_at - ${lateMs}::float8 * interval '1 ms'
      where org_id = ${orgId}`;
  const next = await Promise.all(channelIds.map((id) => posts.claimNext(orgId, id)));
  return next.flatMap((one) => (one.kind === 'claimed' ? [one.claimed] : []));
}
/** A published post whose first comment failed once and is due again. */
async function publishUncommented() {
  const { orgId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
  await untilTried(post.id);
  below.behave = undefined;
  await db.sql`update post_follow_ups set due_at = now() where post_id = ${post.id}`;
  return { orgId, post };
}

test('is claimed behind posts that the host is busy with, once', async () => {
  const { busy, looks } = await openBusy();
  await using _ = busy;
  const [first] = await claimEach(busy, 65);
  const { orgId, post } = await publishUncommented();
  const claim = busy.followUps.claimFollowUps(orgId, post.id);
  await settles(() => expect(looks.count).toBeGreaterThan(1));
  expect(await firstOf(post.id)).toMatchObject({ state: 'waiting', incarnation: null });
  expect((await busy.followUps.claimFollowUps(orgId, post.id)).claimed).toEqual([]); // the first one waits for both
  await busy.posts.settleAttempt(first!, await busy.posts.sendPost(first!));
  expect((await claim).claimed).toHaveLength(1);
});

test('is claimed behind posts that the host is late with, once', async () => {
  const { busy, looks, stopped } = await openBusy();
  await using _ = busy;
  stopped.atMs = performance.now(); // that the moment lasts, however slow the machine is
  const late = await claimEach(busy, 32, 1_000);
  for (const one of late) await busy.posts.settleAttempt(one, await busy.posts.sendPost(one));
  const { orgId, post } = await publishUncommented();
  const claim = busy.followUps.claimFollowUps(orgId, post.id);
  await settles(() => expect(looks.count).toBeGreaterThan(1));
  expect(await firstOf(post.id)).toMatchObject({ state: 'waiting', incarnation: null });
  stopped.atMs += 250;
  expect((await claim).claimed).toHaveLength(1);
});

test('does not wait where few posts are late', async () => {
  const { busy, looks, stopped } = await openBusy();
  await using _ = busy;
  stopped.atMs = performance.now();
  for (const one of await claimEach(busy, 31, 1_000))
    await busy.posts.settleAttempt(one, await busy.posts.sendPost(one));
  const { orgId, post } = await publishUncommented();
  expect((await busy.followUps.claimFollowUps(orgId, post.id)).claimed).toHaveLength(1);
  expect(looks.count).toBe(0);
});

test('stands behind posts that wait for their turn', async () => {
  const { busy, looks } = await openBusy({ PROVIDER_CALLS_IN_FLIGHT: '1' });
  await using _ = busy;
  const { orgId, post } = await publishUncommented();

  const free = gate();
  network.behave = (_post, _sent, accept) => free.passed.then(accept);
  const sent = (await claimEach(busy, 2)).map((one) => busy.posts.sendPost(one));
  await settles(() => expect(busy.posts.gauges).toEqual({ inFlight: 1, waiting: 1 }));
  const commented = busy.followUps.runFollowUps(await busy.followUps.claimFollowUps(orgId, post.id));
  await settles(() => expect(looks.count).toBeGreaterThan(1));
  expect(madeFor(post)).toEqual([]);
  free.open();
  await Promise.all([...sent, commented]);
  expect(madeFor(post)).toHaveLength(1);
});

test('one that a brake holds asks for no reminder while it stands: the next is that of what is to come [S123]', async () => {
  const { orgId, channelId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
  await untilTried(post.id);
  below.behave = undefined;
  const { posts, followUps } = world.context;
  await posts.setBrake(orgId, { scope: 'channel', id: channelId });
  await db.sql`update post_follow_ups set due_at = now() - interval '1 s' where post_id = ${post.id}`;
  expect(await followUps.claimFollowUps(orgId, post.id)).toEqual({ claimed: [], later: undefined });
  expect(await followUps.follow(orgId, post.id)).toBeUndefined();
  const other = systemClock.in(3_600_000);
  await db.sql`
    insert into post_follow_ups (id, org_id, post_id, channel_id, kind, key, plug, state, due_at)
    select ${newId()}, org_id, post_id, channel_id, 'plug', 'other', 'other', 'waiting', ${other}
    from post_follow_ups where post_id = ${post.id}`;
  expect(await followUps.claimFollowUps(orgId, post.id)).toEqual({ claimed: [], later: other });
  await posts.releaseBrake(orgId, { scope: 'channel', id: channelId, spacingSeconds: 0 });
});

test('a result of a host that was taken over meanwhile changes nothing', async () => {
  const { orgId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
  await untilTried(post.id);
  below.behave = undefined;
  await db.sql`update post_follow_ups set due_at = now() where post_id = ${post.id}`;
  const { followUps } = world.context;
  const mine = await followUps.claimFollowUps(orgId, post.id);
  await db.sql`update post_follow_ups set incarnation = ${newId()} where post_id = ${post.id}`;
  await followUps.runFollowUps(mine);
  expect(await firstOf(post.id)).toMatchObject({ state: 'sending', releaseId: null });
});

describe('a channel that needs a login', () => {
  const needsLogin = () => Promise.reject(new ProviderError('reauthorize', 'The login was refused'));

  test('is waited for, and the comment goes out when it is connected again [S135]', async () => {
    const { channelId, post } = await publishWith(needsLogin);
    await untilTried(post.id);
    expect((await firstOf(post.id)).waitsMs).toBeGreaterThan(23 * 3_600_000);
    below.behave = undefined;
    await db.sql`update channels set refresh_needed = false where id = ${channelId}`;
    expect((await world.reconciler.sweep())!.followed).toBeGreaterThan(0);
    await untilState(post.id, 'done');
  });

  test('for more than a day ends it', async () => {
    const { post } = await publishWith(needsLogin);
    await untilTried(post.id);
    await db.sql`update post_follow_ups set login_until = now() - interval '1 s' where post_id = ${post.id}`;
    await makeDue(world, post.id);
    await untilState(post.id, 'failed');
    expect((await firstOf(post.id)).error).toMatch(/^The channel needed a new login/);
  });
});

describe('a channel that is disabled', () => {
  /** A first comment that is due while its channel is disabled. */
  async function disabledBefore() {
    const { channelId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
    await untilTried(post.id);
    below.behave = undefined;
    await db.sql`update channels set disabled = true where id = ${channelId}`;
    await makeDue(world, post.id);
    await untilTried(post.id, 2);
    return { channelId, post };
  }

  test('is waited for, and the comment goes out when it is enabled again', async () => {
    const { channelId, post } = await disabledBefore();
    expect((await firstOf(post.id)).waitsMs).toBeGreaterThan(23 * 3_600_000);
    await world.reconciler.sweep();
    expect(await firstOf(post.id)).toMatchObject({ state: 'waiting', attempt: 2 }); // nobody asks for it meanwhile
    await db.sql`update channels set disabled = false where id = ${channelId}`;
    await world.reconciler.sweep();
    await untilState(post.id, 'done');
    expect(madeFor(post)).toHaveLength(1);
  });

  test('for more than a day ends it', async () => {
    const { post } = await disabledBefore();
    await db.sql`update post_follow_ups set login_until = now() - interval '1 s' where post_id = ${post.id}`;
    await makeDue(world, post.id);
    await untilState(post.id, 'failed');
    expect((await firstOf(post.id)).error).toBe('The channel was disabled, and nobody enabled it within a day');
  });
});

test('a post that is deleted ends what was to follow it', async () => {
  const { orgId, post } = await publishWith(() => Promise.reject(new ProviderError('unavailable', 'Later')));
  await untilTried(post.id);
  below.behave = undefined;
  await postActorOf(world, orgId, post.id).cancel({});
  await makeDue(world, post.id);
  await untilState(post.id, 'ended');
  expect(madeFor(post)).toEqual([]);
});

describe('of a thread', () => {
  /** A root, and so many items behind it; the last one goes out when the gate opens. */
  async function threadOf(items: number) {
    const open = gate();
    const { orgId, channelId } = await seedOrg(db.sql);
    const ids = Array.from({ length: items + 1 }, newId);
    const posts = ids.map((id, n) =>
      newPost(channelId, {
        ...withComment,
        id,
        ...(n > 0 && { rootPostId: ids[0]!, parentPostId: ids[n - 1]! }),
        ...(n === items && { delayMinutes: 60 }),
      }),
    );
    await admit(world, orgId, posts);
    await settles(async () => expect((await stateOf(db.sql, ids[items - 1]!)).state).toBe('PUBLISHED'));
    return { orgId, channelId, ids, open };
  }

  test('comes after its last item [PO6]', async () => {
    const { orgId, channelId, ids } = await threadOf(2);
    expect(await firstOf(ids[0]!)).toMatchObject({ state: 'waiting', attempt: 0 });
    await makeDue(world, ids[0]!); // a look in between changes nothing
    await settles(async () => expect((await firstOf(ids[0]!)).waitsMs).toBeGreaterThan(3_600_000));
    expect(below.made.filter((one) => one.below === `r-${ids[0]}`)).toEqual([]);
    await db.sql`update posts set due_at = now(), publish_date = least(publish_date, now()) where id = ${ids[2]!}`;
    await db.sql`update channels set next_due_at = now() - interval '6 s' where id = ${channelId}`;
    await world.reconciler.sweep();
    await settled(db.sql, orgId);
    await untilState(ids[0]!, 'done');
    expect(below.made.at(-1)!.below).toBe(`r-${ids[0]}`);
    for (const id of ids.slice(1)) expect(await followUpsOf(db.sql, id)).toEqual([]);
  });

  test.each([
    ['first', 1],
    ['last', 2],
  ])('comes when its %s item is refused: nothing goes out behind that [PO6]', async (_, refused) => {
    network.behave = async (one, __, accept) => {
      if (one.id === ids[refused]) throw new ProviderError('rejected', 'Not this one');
      return accept();
    };
    const { orgId, channelId } = await seedOrg(db.sql);
    const ids = Array.from({ length: 3 }, newId);
    await admit(
      world,
      orgId,
      ids.map((id, n) =>
        newPost(channelId, {
          ...withComment,
          id,
          ...(n > 0 && { rootPostId: ids[0]!, parentPostId: ids[n - 1]! }),
        }),
      ),
    );
    await untilState(ids[0]!, 'done');
    expect((await Promise.all(ids.map((id) => stateOf(db.sql, id)))).map(({ state }) => state)).toEqual(
      ids.map((__, n) => (n < refused ? 'PUBLISHED' : 'ERROR')),
    );
    expect(madeFor({ id: ids[0]! })).toHaveLength(1);
  });

  test('waits for the items that go on behind one whose release a person named [PO6, S118]', async () => {
    const { orgId, ids } = await threadOf(3);
    await db.sql`
      update posts
      set state = 'ERROR', detail = null, due_at = null, error_kind = 'network', error = 'x',
        published_at = null, release_id = null
      where id in ${db.sql(ids.slice(2))}`;
    await world.context.posts.setRelease(orgId, ids[2]!, { releaseId: 'r-named' });
    expect(await stateOf(db.sql, ids[3]!)).toMatchObject({ state: 'QUEUE' });
    expect((await firstOf(ids[0]!)).waitsMs).toBeGreaterThan(3_600_000);
  });

  test('comes at once when the items that were not out are deleted [PO6]', async () => {
    const { orgId, ids } = await threadOf(1);
    await postActorOf(world, orgId, ids[1]!).cancel({});
    await untilState(ids[0]!, 'done');
  });

  test('comes at once when a person names the release of its last item [PO6, S118]', async () => {
    const { orgId, ids } = await threadOf(1);
    await db.sql`update posts set state = 'ERROR', detail = null, due_at = null where id = ${ids[1]!}`;
    await postActorOf(world, orgId, ids[1]!).setRelease({ releaseId: 'r-named' });
    await untilState(ids[0]!, 'done');
  });

  test('is left alone by the reconciler while it may stand behind posts, 35 s long', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const waiting = Array.from({ length: 33 }, (_, n) => n);
    for (const secondsAgo of [...waiting, 36, 37]) {
      const id = newId();
      await db.sql`
        with published as (
          insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, release_id)
          values (${id}, ${orgId}, ${channelId}, ${id}, 'PUBLISHED', 'x', now(), 'r')
        )
        insert into post_follow_ups (org_id, post_id, kind, channel_id, due_at)
        values (${orgId}, ${id}, 'first_comment', ${channelId}, now() - ${secondsAgo} * interval '1 s')`;
    }
    const found = await world.context.followUps.overdueFollowUps(500);
    await db.sql`delete from organizations where id = ${orgId}`;
    expect(found.filter((one) => one.orgId === orgId)).toHaveLength(2);
  });

  test('comes when the last item is deleted while the one before it is published [PO6]', async () => {
    const { orgId, channelId, ids } = await threadOf(2);
    await db.sql`update posts set state = 'QUEUE', detail = 'scheduled', published_at = null where id = ${ids[1]!}`;
    let deleted: Promise<unknown>;
    await db.sql.begin(async (tx) => {
      await tx`select from channels where id = ${channelId} for update`;
      deleted = world.context.posts.removePost(orgId, ids[2]!);
      await settles(async () => {
        const waiting = await waitingOnLock(db.sql);
        expect(waiting).toBe(1);
      });
      await tx`update posts set state = 'PUBLISHED', detail = null, published_at = now() where id = ${ids[1]!}`;
    });
    await deleted!;
    expect((await firstOf(ids[0]!)).waitsMs).toBeLessThanOrEqual(0);
  });
});
