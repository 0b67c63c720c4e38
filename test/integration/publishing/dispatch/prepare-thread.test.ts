import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import type { NewPost } from '../../../../src/publishing/posts/index.ts';
import { picture } from '../../../support/worlds/samples.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../../support/wire/receiver.ts';
import { settles } from '../../../support/wire/settles.ts';
import {
  admit,
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

const MINUTE = 60_000;

let db: TestDatabase;
let site: Receiver;
let network: Network;
let world: Publisher;
const folder = mkdtempSync(join(tmpdir(), 'rookery-thread-'));
const missing = new Set<string>();
beforeAll(async () => {
  db = await testDatabase();
  const png = await picture(8, 8);
  const answer: Parameters<typeof startReceiver>[0] = {
    answer: (response, { path }) => void response.writeHead(missing.has(path) ? 404 : 200).end(png),
  };
  site = await startReceiver(answer);
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function start() {
  await db.sql`delete from organizations`;
  missing.clear();
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, env: { UPLOAD_FOLDER: folder } });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

let addresses = 0;
/** A picture of its own, outside. */
const outside = () => [{ path: `${site.url}/${(addresses += 1)}.png`, alt: '' }];
const pathOf = ({ media: [item] }: NewPost) => new URL(item!.path).pathname;
const fetchesOf = (post: NewPost) => site.ledger.filter(({ path }) => path === pathOf(post)).length;

/** A thread that is due in ten minutes; `items` come behind its root. */
async function thread(items: readonly Partial<NewPost>[], root: Partial<NewPost> = {}) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const publishDate = systemClock.in(10 * MINUTE);
  const posts = [newPost(channelId, { content: 'root', publishDate, ...root })];
  for (const item of items) {
    const [first] = posts;
    const behind = { rootPostId: first!.id, parentPostId: posts.at(-1)!.id, group: first!.group };
    posts.push(newPost(channelId, { content: `item ${posts.length}`, publishDate, ...behind, ...item }));
  }
  await admit(world, orgId, posts);
  return { orgId, channelId, posts };
}
async function dueNow(orgId: string, postId: string) {
  await db.sql`update posts set publish_date = now() where root_post_id = ${postId}`;
  await db.sql`update posts set publish_date = now(), due_at = now() where id = ${postId}`;
  await db.sql`
    update channels set next_due_at = now() - interval '1 minute', due_version = due_version + 1 where org_id = ${orgId}`;
  await world.reconciler.sweep();
}
/** As when so many minutes have passed for a post. */
const minutesLater = (postId: string, minutes: number) => db.sql`
  update posts
  set publish_date = publish_date - ${minutes} * interval '1 minute', due_at = due_at - ${minutes} * interval '1 minute',
    prepare_at = prepare_at - ${minutes} * interval '1 minute'
  where id = ${postId} or root_post_id = ${postId}`;
const found = async () => (await world.reconciler.sweep())!.prepared;

/** When it is prepared again, in minutes; undefined: somebody does now, or nobody has; null: never. */
async function again(postId: string): Promise<number | null | undefined> {
  const [row] = await db.sql<{ held: boolean; at: string | null; minutes: number | null }[]>`
    select preparation is not null as held, prepare_at::text as at,
      case when prepare_at < 'infinity' then extract(epoch from prepare_at - now())::float8 / 60 end as minutes
    from posts where id = ${postId}`;
  if (row!.held || row!.at === null) return undefined;
  return row!.minutes === null ? null : Math.round(row!.minutes);
}
const isLeft = (postId: string, minutes: number | null) =>
  settles(async () => expect(await again(postId)).toBe(minutes));
const kindsOf = async (postId: string) =>
  (await db.sql`select kind from post_timeline where post_id = ${postId} order by id`).map(
    ({ kind }) => kind as string,
  );

describe('outside media of the items behind a root', () => {
  test('are fetched before the date of the root, and the thread goes out with the copies [S260]', async () => {
    await using _running = await start();
    const { orgId, posts } = await thread([{ media: outside() }, {}, { media: outside(), delayMinutes: 2 }], {
      media: outside(),
    });
    const [root, one, text, two] = posts;
    expect(await found()).toBe(3);
    for (const { id } of [root!, one!, two!]) await isLeft(id, null);
    expect(await again(text!.id)).toBeUndefined();
    expect(await found()).toBe(0);
    expect([root, one, two].map((post) => fetchesOf(post!))).toEqual([1, 1, 1]);
    expect(network.asked).toEqual([]);

    await db.sql`update posts set delay_minutes = 0 where id = ${two!.id}`;
    await dueNow(orgId, root!.id);
    await settled(db.sql, orgId);
    expect(network.taken.map(({ postId }) => postId)).toEqual(posts.map(({ id }) => id));
    expect([root, one, two].map((post) => fetchesOf(post!))).toEqual([1, 1, 1]);
  });

  test('are left alone while their root is a draft, far away, held up, or about to go out', async () => {
    await using _running = await start();
    const item = { media: outside() };
    const made = [
      await thread([{ ...item, state: 'DRAFT' }], { state: 'DRAFT' }),
      await thread([{ ...item, publishDate: systemClock.in(20 * MINUTE) }], {
        publishDate: systemClock.in(20 * MINUTE),
      }),
      await thread([{ ...item, publishDate: systemClock.in(30_000) }], { publishDate: systemClock.in(30_000) }),
      await thread([item]),
    ];
    await db.sql`update posts set detail = 'paused' where id = ${made[3]!.posts[0]!.id}`;
    expect(await found()).toBe(0);
    for (const { orgId, posts } of made)
      expect(await world.posts.claimPreparation(orgId, posts[1]!.id)).toBeUndefined();
  });

  test('are tried each minute, said once to be missing, and fail their item alone when it is due [S102, S260]', async () => {
    await using _running = await start();
    const { orgId, posts } = await thread([{ media: outside(), delayMinutes: 5 }]);
    const [root, item] = posts;
    missing.add(pathOf(item!));
    for (const tries of [1, 2]) {
      expect(await found()).toBe(1);
      await settles(() => expect(fetchesOf(item!)).toBe(tries));
      await isLeft(item!.id, 1);
      expect(await found()).toBe(0);
      await db.sql`update posts set prepare_at = now() where id = ${item!.id}`;
    }
    expect(await kindsOf(item!.id)).toEqual(['created', 'retry_planned']);
    await dueNow(orgId, root!.id);
    await settles(async () => expect(await stateOf(db.sql, root!.id)).toMatchObject({ state: 'PUBLISHED' }));
    await found(); // while it waits for its delay
    await settles(() => expect(fetchesOf(item!)).toBeGreaterThan(2));
    await isLeft(item!.id, 1);
    expect(await kindsOf(item!.id)).toEqual(['created', 'retry_planned']);
    expect(await stateOf(db.sql, item!.id)).toMatchObject({ state: 'QUEUE', attempt: 0 });
    await minutesLater(root!.id, 5);
    await db.sql`update channels set next_due_at = now() - interval '1 minute' where org_id = ${orgId}`;
    await found();
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, item!.id)).toMatchObject({ state: 'ERROR', errorKind: 'media_processing' });
    expect(await stateOf(db.sql, root!.id)).toMatchObject({ state: 'PUBLISHED' });
  });

  test('are fetched again before their own date where that is long after the first one', async () => {
    await using _running = await start();
    const { orgId, posts } = await thread([{ media: outside(), delayMinutes: 120 }]);
    const [root, item] = posts;
    expect(await found()).toBe(1);
    await isLeft(item!.id, 115); // a quarter of an hour before it, at 10 + 120 minutes
    await minutesLater(root!.id, 10);
    await dueNow(orgId, root!.id);
    await settles(async () => expect(await stateOf(db.sql, root!.id)).toMatchObject({ state: 'PUBLISHED' }));
    expect(await found()).toBe(0);
    await minutesLater(root!.id, 105);
    expect(await found()).toBe(1);
    await isLeft(item!.id, null);
  });
});

describe('steps of the network for the items behind a root', () => {
  /** Notes each step, and is ready after it. */
  const steps: [content: string, isLater: boolean, saved: unknown][] = [];
  function prepares() {
    steps.length = 0;
    network.prepare = async ({ plain }, { saved, save, isLater }) => {
      steps.push([plain, isLater, saved]);
      await save({ of: plain });
      return 'ready';
    };
  }
  const withFile = () => ({ media: outside() });

  test('are made ahead, and their attempts go on from what was saved', async () => {
    await using _running = await start();
    prepares();
    const { orgId, posts } = await thread([withFile(), withFile()], withFile());
    expect(await found()).toBe(3);
    for (const { id } of posts) await isLeft(id, null);
    expect(steps.toSorted()).toEqual([
      ['item 1', true, undefined],
      ['item 2', true, undefined],
      ['root', false, undefined],
    ]);
    await dueNow(orgId, posts[0]!.id);
    await settled(db.sql, orgId);
    expect(steps).toHaveLength(3);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([
      { of: 'root' },
      { of: 'item 1' },
      { of: 'item 2' },
    ]);
  });

  test('wait for the item before where the network declares so, and are made ahead once that is out', async () => {
    await using _running = await start();
    prepares();
    const answers: [content: string, above: number][] = [];
    network.declares = {
      prepareReply: async ({ post, thread: above, save }) => {
        answers.push([post.plain, above.length]);
        await save({ answers: above.length });
        return 'ready';
      },
    };
    const { orgId, posts } = await thread([withFile(), { ...withFile(), delayMinutes: 5 }], withFile());
    const [root, one, two] = posts;
    expect(await found()).toBe(3);
    await isLeft(root!.id, null);
    await settles(async () => expect([await again(one!.id), await again(two!.id)]).toEqual([10, 10]));
    expect(steps).toEqual([['root', false, undefined]]);
    expect(answers).toEqual([]);

    await dueNow(orgId, root!.id);
    await settles(async () => expect(await stateOf(db.sql, one!.id)).toMatchObject({ state: 'PUBLISHED' }));
    expect(answers).toEqual([['item 1', 1]]);
    await db.sql`update posts set prepare_at = now() where id = ${two!.id}`;
    expect(await found()).toBe(1);
    await isLeft(two!.id, null);
    expect(answers).toEqual([
      ['item 1', 1],
      ['item 2', 2],
    ]);
    await db.sql`update posts set due_at = now() where id = ${two!.id}`;
    await db.sql`update channels set next_due_at = now() - interval '1 minute' where org_id = ${orgId}`;
    await found();
    await settled(db.sql, orgId);
    expect(answers).toHaveLength(2);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ of: 'root' }, { answers: 1 }, { answers: 2 }]);
  });

  test('of files of the library are not looked for there while the item before is not out', async () => {
    await using _running = await start();
    prepares();
    network.declares = { prepareReply: async () => 'ready' };
    await thread([{ media: [{ path: '/uploads/own.png', alt: '' }] }]);
    expect(await found()).toBe(0);
  });

  test('begin anew when their item is edited, and end when it is taken out of the thread', async () => {
    await using _running = await start();
    prepares();
    const { orgId, posts } = await thread([withFile(), withFile()]);
    const [root, one, two] = posts;
    expect(await found()).toBe(2);
    for (const { id } of [one!, two!]) await isLeft(id, null);
    await postActorOf(world, orgId, one!.id).edit({ content: 'another' });
    expect(await found()).toBe(1);
    await isLeft(one!.id, null);
    expect(steps.filter(([content]) => content === 'another')).toEqual([['another', true, undefined]]);
    await postActorOf(world, orgId, root!.id).edit({ thread: [] });
    expect(await world.posts.claimPreparation(orgId, two!.id)).toBeUndefined();
    expect(await found()).toBe(0);
  });

  test('go on elsewhere when a host has given no sign of life for long, and the first one is refused', async () => {
    await using _running = await start();
    prepares();
    const { orgId, posts } = await thread([withFile()]);
    const [, item] = posts;
    const first = (await world.posts.claimPreparation(orgId, item!.id))!;
    expect(first).toMatchObject({ postId: item!.id, isLater: true });
    expect(await found()).toBe(0);
    await db.sql`update posts set prepare_at = now() where id = ${item!.id}`;
    expect(await found()).toBe(1);
    await isLeft(item!.id, null);
    await world.posts.prepareAhead(first); // comes back, and may write nothing
    expect(await again(item!.id)).toBeNull();
    expect((await db.sql`select saved -> 'value' as value from posts where id = ${item!.id}`)[0]).toEqual({
      value: { of: 'item 1' },
    });
  });
});
