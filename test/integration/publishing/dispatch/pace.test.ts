import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId, ProviderError } from '../../../../src/platform/kernel/index.ts';
import { plugsOf } from '../../../../src/providers/social/_plugs.ts';
import type { ChannelSnapshot } from '../../../../src/publishing/posts/channels-port.ts';
import { belowPosts } from '../../../support/worlds/publishing/follow-ups.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { settles } from '../../../support/wire/settles.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Network,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

const HOUR = 3_600_000;
const USED_UP = 'The account or the app has posted as often as the network allows';

let db: TestDatabase;
let network: Network;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

async function start(pace: NonNullable<Network['declares']['pace']>) {
  await db.sql`delete from network_paces`;
  network = openNetwork();
  network.declares = { pace };
  world = await startPublisher({ url: db.url, network });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const windows = async () =>
  (await db.sql<{ posts: number }[]>`select posts from network_paces order by key`).map(({ posts }) => posts);
const channelOf = async (channelId: string) =>
  (
    await db.sql<{ restsMs: number | null; held: boolean }[]>`
    select extract(epoch from resting_until - now())::float8 * 1000 as "restsMs", slot_incarnation is not null as held
    from channels where id = ${channelId}`
  )[0]!;
/** As a claim reads it. */
const snapshotOf = async (channelId: string) =>
  (
    await db.sql<{ channel: ChannelSnapshot }[]>`
      select json_build_object('id', id, 'orgId', org_id, 'providerId', provider_id, 'providerVersion',
        provider_version, 'internalId', internal_id, 'name', name, 'credentials', credentials, 'settings', settings,
        'tokenExpiresAt', null, 'routeId', null) as channel
      from channels where id = ${channelId}`
  )[0]!.channel;
const timelineOf = (postId: string) =>
  db.sql<{ kind: string; message: string }[]>`
    select kind, message from post_timeline where post_id = ${postId} order by id`;
const isPaced = (channelId: string, postId: string) =>
  settles(async () => {
    expect((await timelineOf(postId)).at(-1)).toEqual({ kind: 'rate_limited', message: USED_UP });
    expect((await channelOf(channelId)).held).toBe(false);
  });
/** As when the window is over. */
async function windowEnds() {
  await db.sql`update network_paces set until = now()`;
  await db.sql`update posts set due_at = now() where state = 'QUEUE' and deleted_at is null`;
  await db.sql`update channels set resting_until = null, next_due_at = now() - interval '1 minute', due_version = due_version + 1`;
  await world.reconciler.sweep();
}

describe('the pace of a network', () => {
  test('lets so many posts of an account out in a window; the next one waits without an attempt that failed', async () => {
    await using _running = await start([{ per: 'account', posts: 2, ms: HOUR }]);
    const { orgId, channelId } = await seedOrg(db.sql);
    const posts = [newPost(channelId), newPost(channelId), newPost(channelId)];
    for (const post of posts) await admit(world, orgId, [post]);
    await isPaced(channelId, posts[2]!.id);
    expect(network.asked.map(({ postId }) => postId)).toEqual([posts[0]!.id, posts[1]!.id]);
    expect(await stateOf(db.sql, posts[2]!.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', error: null });
    const { restsMs } = await channelOf(channelId);
    expect(restsMs).toBeGreaterThan(HOUR - 600_000);
    expect(restsMs).toBeLessThanOrEqual(HOUR);

    await windowEnds();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, posts[2]!.id)).toMatchObject({ state: 'PUBLISHED' });
    expect(await windows()).toEqual([1]);
  });

  test('is shared by the channels of an app, in whatever organization they are', async () => {
    await using _running = await start([{ per: 'app', posts: 1, ms: HOUR }]);
    const [first, second] = [await seedOrg(db.sql), await seedOrg(db.sql)];
    const one = newPost(first.channelId);
    await admit(world, first.orgId, [one]);
    await settled(db.sql, first.orgId);
    const other = newPost(second.channelId);
    await admit(world, second.orgId, [other]);
    await isPaced(second.channelId, other.id);
    expect(network.asked.map(({ postId }) => postId)).toEqual([one.id]);
  });

  test('takes from every window or from none', async () => {
    await using _running = await start([
      { per: 'account', posts: 9, ms: HOUR },
      { per: 'app', posts: 1, ms: HOUR },
    ]);
    const { orgId, channelId } = await seedOrg(db.sql);
    const posts = [newPost(channelId), newPost(channelId)];
    for (const post of posts) await admit(world, orgId, [post]);
    await isPaced(channelId, posts[1]!.id);
    expect(await windows()).toEqual([1, 1]);
  });

  test('counts a post once that goes on where an attempt stopped', async () => {
    await using _running = await start([{ per: 'account', posts: 1, ms: HOUR }]);
    let calls = 0;
    network.behave = async (_post, { handle }, accept) => {
      await handle.save({ upload: 1 });
      if ((calls += 1) > 1) return accept();
      throw new ProviderError('unavailable', 'busy', { retryAfterMs: 1 });
    };
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId);
    await admit(world, orgId, [post]);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
    expect(await windows()).toEqual([1]);
  });

  test('of posts alone counts no later item, no comment and no read, and holds none of them', async () => {
    await using _running = await start([{ per: 'account', posts: 1, ms: HOUR, of: 'posts' }]);
    const below = belowPosts(network);
    const { orgId, channelId } = await seedOrg(db.sql);
    const root = newPost(channelId, { settings: { firstComment: 'First' } });
    const { group, id: rootPostId } = root;
    const reply = newPost(channelId, { group, rootPostId, parentPostId: rootPostId, content: 'reply' });
    await admit(world, orgId, [root, reply]);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, reply.id)).toMatchObject({ state: 'PUBLISHED' });
    await settles(async () => expect(below.made.map(({ text }) => text)).toEqual(['First']));
    expect(await windows()).toEqual([1]);
    const caller = { orgId, channelId, channel: await snapshotOf(channelId), heldSince: 0, leaseMs: 120_000 };
    expect(await world.posts.readWithoutSlot(caller, async () => {})).toBeUndefined();

    const second = newPost(channelId);
    await admit(world, orgId, [second]);
    await isPaced(channelId, second.id);
  });

  test('of posts alone counts a repost, which makes a post', async () => {
    await using _running = await start([{ per: 'account', posts: 1, ms: HOUR, of: 'posts' }]);
    const below = belowPosts(network);
    network.declares.plugs = plugsOf('fake', ['repost-from']);
    const { orgId, channelIds } = await seedOrg(db.sql, 2);
    const [channelId, second] = channelIds as [string, string];
    const settings = {
      'plug--fake-repost-from--active': true,
      'plug--fake-repost-from--integrations': [{ id: second }],
    };
    await admit(world, orgId, [newPost(channelId, { settings })]);
    await settles(async () => expect(below.made).toMatchObject([{ kind: 'repost', account: second }]));
    expect(await windows()).toEqual([1, 1]);

    const other = newPost(second);
    await admit(world, orgId, [other]);
    await isPaced(second, other.id);
  });

  test('of comments alone holds later items and comments, and neither posts nor reads', async () => {
    await using _running = await start([
      { per: 'account', posts: 9, ms: HOUR, of: 'posts' },
      { per: 'account', posts: 1, ms: HOUR, of: 'comments' },
    ]);
    const below = belowPosts(network);
    const { orgId, channelId } = await seedOrg(db.sql);
    const root = newPost(channelId);
    const { group, id: rootPostId } = root;
    const reply = newPost(channelId, { group, rootPostId, parentPostId: rootPostId, content: 'reply' });
    const last = newPost(channelId, { group, rootPostId, parentPostId: reply.id, content: 'last' });
    await admit(world, orgId, [root, reply, last]);
    await isPaced(channelId, last.id);
    expect(network.asked.map(({ postId }) => postId)).toEqual([root.id, reply.id]);
    expect((await channelOf(channelId)).restsMs).toBeNull();

    const other = newPost(channelId, { settings: { firstComment: 'First' } });
    await admit(world, orgId, [other]);
    await settles(async () => expect((await timelineOf(other.id)).map(({ message }) => message)).toContain(USED_UP));
    expect(await stateOf(db.sql, other.id)).toMatchObject({ state: 'PUBLISHED' });
    expect(below.made).toEqual([]);
    expect((await windows()).toSorted()).toEqual([1, 2]);
    const caller = { orgId, channelId, channel: await snapshotOf(channelId), heldSince: 0, leaseMs: 120_000 };
    expect(await world.posts.readWithoutSlot(caller, async () => {})).toBeUndefined();
  });

  test('is held where many posts are due at the same time', async () => {
    await using _running = await start([{ per: 'app', posts: 3, ms: HOUR }]);
    const { orgId, channelIds } = await seedOrg(db.sql, 8);
    const posts = channelIds.map((id) => newPost(id));
    await admit(world, orgId, posts);
    await settles(async () => {
      const [{ n }] = await db.sql<[{ n: number }]>`
        select count(*)::int as n from channels where org_id = ${orgId} and resting_until > now()`;
      expect(n).toBe(5);
    });
    expect(network.taken).toHaveLength(3);
  });

  test('is held by the next process, too: none counts in its own memory', async () => {
    const { orgId, channelIds } = await seedOrg(db.sql, 4);
    const posts = channelIds.map((id) => newPost(id));
    const pace: NonNullable<Network['declares']['pace']> = [{ per: 'app', posts: 3, ms: HOUR }];
    {
      await using _first = await start(pace);
      await admit(world, orgId, posts.slice(0, 2));
      await settled(db.sql, orgId);
    }
    world = await startPublisher({ url: db.url, network });
    await using _second = world;
    for (const post of posts.slice(2)) await admit(world, orgId, [post]);
    await isPaced(channelIds[3]!, posts[3]!.id);
    expect(network.asked.map(({ postId }) => postId).toSorted()).toEqual(
      posts
        .slice(0, 3)
        .map(({ id }) => id)
        .toSorted(),
    );
    expect(await windows()).toEqual([3]);
  });

  test('forgets windows that have ended', async () => {
    await using _running = await start([{ per: 'account', posts: 1, ms: HOUR }]);
    await db.sql`
      insert into network_paces (key, posts, until)
      values (${newId()}, 1, now() - interval '1 minute'), ('kept', 1, now() + interval '1 hour')`;
    expect(await world.posts.sweeps.dropPaces(10)).toBe(1);
    expect(await windows()).toEqual([1]);
  });
});
