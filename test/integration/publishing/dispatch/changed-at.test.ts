import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readChangeCounter } from '../../../../src/platform/db/index.ts';
import { newId, ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
import type { AttemptOutcome, ClaimedPost, NewPost } from '../../../../src/publishing/posts/index.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { settles } from '../../../support/wire/settles.ts';
import { type BelowPosts, belowPosts, followUpsOf } from '../../../support/worlds/publishing/follow-ups.ts';
import { newPost, openNetwork, openPublishing, seedOrg, stateOf } from '../../../support/worlds/publishing/world.ts';

// `updatedAt` of a post, by which clients and calendars tell what has changed: each step of its way moves it.

const HOUR = 3_600_000;
let db: TestDatabase;
let host: Awaited<ReturnType<typeof openHost>>;
const network = openNetwork();
let below: BelowPosts;
beforeAll(async () => {
  db = await testDatabase();
  below = belowPosts(network);
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
  const context = await openPublishing({ url: db.url, network, engine: { ...noEngine, engine } });
  await db.sql`
    insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
    values (${context.incarnation}, 'dapr', 'x', '{}', now())`;
  return context;
}

/** A thread of so many items. */
async function thread(count: number, more: Partial<NewPost> = {}) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const root = newPost(channelId, more);
  const items = [root];
  while (items.length < count)
    items.push(
      newPost(channelId, {
        group: root.group,
        rootPostId: root.id,
        parentPostId: items.at(-1)!.id,
        publishDate: root.publishDate ?? null,
      }),
    );
  await host.posts.admitPosts(orgId, [{ posts: items, createdBy: orgId }]);
  const ids = items.map(({ id }) => id);

  /** The items, by their places, that a step says to have changed, and what it answers. */
  async function changedBy<T>(step: () => Promise<T>): Promise<{ changed: number[]; answer: T }> {
    await db.sql`update posts set updated_at = now() - interval '9 days' where org_id = ${orgId}`;
    const answer = await step();
    const rows = await db.sql<{ id: string }[]>`
      select id
      from posts
      where org_id = ${orgId}
        and updated_at > now() - interval '1 hour'`;
    return { changed: rows.map(({ id }) => ids.indexOf(id)).toSorted(), answer };
  }
  async function claim(): Promise<ClaimedPost> {
    const next = await host.posts.claimNext(orgId, channelId);
    if (next.kind !== 'claimed') throw new Error(`Not claimed: ${next.kind}`);
    return next.claimed;
  }
  return { orgId, channelId, ids, changedBy, claim };
}
const out = ({ postId }: ClaimedPost): AttemptOutcome => ({
  kind: 'published',
  release: { id: `r-${postId}`, url: '' },
});

test('a claim, a result, what it opens and what it gives up are changes of their posts', async () => {
  const { orgId, ids, changedBy, claim } = await thread(3);
  const first = await changedBy(claim);
  expect(first.changed).toEqual([0]);
  const published = await changedBy(() => host.posts.settleAndClaim(first.answer, out(first.answer)));
  expect(published.changed).toEqual([0, 1]); // the second item has its time now
  const second = await changedBy(claim);
  expect(second.changed).toEqual([1]);
  const failed = await changedBy(() => host.posts.settleAndClaim(second.answer, { kind: 'rejected', message: 'no' }));
  expect(failed.changed).toEqual([1, 2]);
  expect(await stateOf(db.sql, ids[2]!)).toMatchObject({ state: 'ERROR' });

  const named = await changedBy(() => host.posts.setRelease(orgId, ids[1]!, { releaseId: 'by-hand' }));
  expect(named.changed).toEqual([1, 2]);
  expect(await stateOf(db.sql, ids[2]!)).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
});

test('a post whose host fell silent has changed', async () => {
  const { channelId, ids, changedBy, claim } = await thread(1);
  await claim();
  await db.sql`update channels set slot_until = now() - interval '1 second' where id = ${channelId}`;
  const { changed } = await changedBy(() => host.posts.sweeps.takeOver(10));
  expect(changed).toEqual([0]);
  expect(await stateOf(db.sql, ids[0]!)).toMatchObject({ detail: 'unconfirmed' });
});

test('a series that is moved to a later date has changed, with the items behind it', async () => {
  const recurrence: NewPost['recurrence'] = {
    days: 'FREQ=DAILY;INTERVAL=1',
    timezone: 'UTC',
    local: '2020-01-01T00:00:00.000',
    until: null,
    left: null,
    inter: 1,
  };
  const { changedBy } = await thread(2, { id: newId(), publishDate: systemClock.in(-74 * HOUR), recurrence });
  const { changed } = await changedBy(() =>
    host.posts.judgeMissed({ beganAt: systemClock.in(-80 * HOUR), endedAt: systemClock.in(0) }),
  );
  expect(changed).toEqual([0, 1]);
});

/** A post that is out, whose first comment is due; `follow` makes that. */
async function commented() {
  const { orgId, ids, changedBy, claim } = await thread(1, { settings: { firstComment: 'First' } });
  const claimed = await claim();
  await host.posts.settleAndClaim(claimed, out(claimed));
  const stateOfComment = async () => (await followUpsOf(db.sql, ids[0]!))[0]!.state;
  return { orgId, postId: ids[0]!, changedBy, stateOfComment, follow: () => host.followUps.follow(orgId, ids[0]!) };
}

test.each([
  { end: 'is posted', state: 'posted', behave: undefined },
  {
    end: 'has failed',
    state: 'failed',
    behave: () => Promise.reject(new ProviderError('rejected', 'No comments here')),
  },
])('a post whose first comment $end has changed, and so have the tags of lists', async ({ state, behave }) => {
  const { orgId, postId, changedBy, follow } = await commented();
  below.behave = behave;
  const { changed, answer } = await changedBy(async () => {
    const before = await readChangeCounter(db.sql, orgId);
    await follow();
    return [before, await readChangeCounter(db.sql, orgId)];
  });
  expect(changed).toEqual([0]);
  expect(answer[1]).not.toBe(answer[0]);
  expect((await host.posts.getPost(orgId, postId))[0]).toMatchObject({ firstComment: { state } });
});

test('a post that is locked keeps the result of its own first comment waiting, and that of no other', async () => {
  below.behave = undefined;
  const [held, free] = [await commented(), await commented()];
  const made = (postId: string) => below.made.some((one) => one.below === `r-${postId}`);
  let followed: Promise<unknown>;
  await db.sql.begin(async (tx) => {
    await tx`select from posts where id = ${held.postId} for no key update`;
    followed = held.follow();
    await settles(() => expect(made(held.postId)).toBe(true));
    await free.follow();
    expect(await free.stateOfComment()).toBe('done');
    expect(await held.stateOfComment()).toBe('sending');
  });
  await followed!;
  expect(await held.stateOfComment()).toBe('done');
});
