import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { organizationActor } from '../../../../actors/organization/contract.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { CreateBody, EditBody } from '../../../../src/publishing/posts/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Publisher,
  seedOrg,
  startPublisher,
} from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
  world = await startPublisher({ url: db.url, network: openNetwork() });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const inADay = systemClock.in(86_400_000);
let org: Awaited<ReturnType<typeof seedOrg>>;
let root: ReturnType<typeof newPost>;
beforeEach(async () => {
  org = await seedOrg(db.sql);
  root = newPost(org.channelId, { publishDate: inADay });
  await admit(world, org.orgId, [root]);
});

/**
 * Starts one after the other while the channel is held, so that each has looked at the posts before the first of them
 * changed any.
 */
async function together(...work: (() => Promise<unknown>)[]): Promise<PromiseSettledResult<unknown>[]> {
  const started: Promise<unknown>[] = [];
  const waiting = () => waitingOnLock(db.sql);
  await db.sql.begin(async (tx) => {
    await tx`select from channels where id = ${org.channelId} for update`;
    for (const start of work) {
      started.push(start());
      await eventually('it waits for the channel', async () => (await waiting()) === started.length);
    }
  });
  return Promise.allSettled(started);
}
const item = (content: string) => ({ id: newId(), content, media: [], delayMinutes: 0 });
const grow = () => world.posts.editPost(org.orgId, root.id, { thread: [item('one'), item('two')] });
const alive = () =>
  db.sql`
    select content, state, publish_date as date
    from posts
    where org_id = ${org.orgId} and deleted_at is null
    order by seq`.then((rows) => rows.map((row) => ({ ...row })));
const done = { status: 'fulfilled' };

test.each([
  ['the post', () => world.posts.removePost(org.orgId, root.id)],
  ['its group', () => world.posts.removeGroup(org.orgId, root.group)],
])('an edit that adds items behind a post leaves none of them when %s is deleted meanwhile [T3]', async (_, remove) => {
  expect(await together(grow, remove)).toMatchObject([done, done]);
  expect(await alive()).toEqual([]);
});

test('an edit of a whole thread also changes items that a concurrent edit adds to it', async () => {
  const later = systemClock.in(2 * 86_400_000);
  expect(await together(grow, () => world.posts.editPost(org.orgId, root.id, { publishDate: later }))).toMatchObject([
    done,
    done,
  ]);
  expect(await alive()).toEqual(
    ['<p>Hi</p>', 'one', 'two'].map((content) => ({ content, state: 'QUEUE', date: later })),
  );
});

/** What an edit of the post changes, by the post as it is now. */
const prepared = (postId: string, body: object, merge = true) =>
  world.posts.prepareEdit(org.orgId, postId, EditBody.parse(body), { userId: org.userId, merge });
const TOO_LONG = 'x'.repeat(101);
async function draft() {
  const one = newPost(org.channelId, { publishDate: inADay, state: 'DRAFT', content: '<p>draft</p>' });
  await admit(world, org.orgId, [one]);
  return one.id;
}
const contentsOf = async (id: string) => (await world.posts.getPost(org.orgId, id)).map(({ content }) => content);

test('an edit that names a campaign keeps a tag which another edit sets meanwhile [S187, S188]', async () => {
  const { userId } = org;
  const campaign = () => world.posts.createCampaign(org.orgId, { name: newId(), createdBy: userId });
  const [before, after] = [await campaign(), await campaign()];
  const edit = async (body: object) => world.posts.editPost(org.orgId, root.id, await prepared(root.id, body));
  const tagsOf = async () => (await world.posts.getPost(org.orgId, root.id))[0]!.tags.map(({ name }) => name).sort();
  await edit({ campaignId: before.id });
  const [moved, taken] = [
    await prepared(root.id, { campaignId: after.id }),
    await prepared(root.id, { campaignId: null }),
  ];
  await edit({ tags: [{ label: 'birds' }], campaignId: before.id });
  expect(await tagsOf()).toEqual([before.name, 'birds'].sort());
  await world.posts.editPost(org.orgId, root.id, moved);
  expect(await tagsOf()).toEqual([after.name, 'birds'].sort());
  await world.posts.editPost(org.orgId, root.id, taken);
  expect(await tagsOf()).toEqual(['birds']);

  const posts = [{ integration: { id: org.channelId }, value: [{ id: root.id, content: '<p>Hi</p>' }] }];
  const body = CreateBody.parse({ type: 'update', campaignId: after.id, posts });
  const { edits } = await world.posts.prepareCreate(org.orgId, body, userId);
  await edit({ tags: [{ label: 'bees' }] });
  await world.actors(organizationActor, org.orgId).admit({ posts: [], edits, createdBy: userId });
  expect(await tagsOf()).toEqual([after.name, 'bees'].sort());
});

describe.each([
  ['queued', (id: string) => world.posts.editPost(org.orgId, id, { status: 'schedule' })],
  [
    'to be approved',
    (id: string) => world.posts.requestApproval(org.orgId, id, { userId: org.userId, schedulesFreely: false }),
  ],
])('an edit that was prepared of a draft which is %s by now', (_, enter) => {
  test.each([
    ['content', { content: TOO_LONG }],
    ['thread.1.content', { thread: [{ content: 'one' }, { content: TOO_LONG }] }],
  ])('is refused with its field %s where the network would refuse it [S108]', async (field, body) => {
    const id = await draft();
    const change = await prepared(id, body);
    await enter(id);
    await expect(world.posts.editPost(org.orgId, id, change)).rejects.toMatchObject({
      code: 'invalid_content',
      extra: { errors: [{ field }] },
    });
    expect(await contentsOf(id)).toEqual(['<p>draft</p>']);
  });

  test('is stored where the network takes it', async () => {
    const id = await draft();
    const change = await prepared(id, { content: '<p>new</p>', thread: [{ content: '<p>one</p>' }] });
    await enter(id);
    await world.posts.editPost(org.orgId, id, change);
    expect(await contentsOf(id)).toEqual(['<p>new</p>', '<p>one</p>']);
  });

  test('is a conflict where a body makes it that creates posts as well, and the next one is judged [S108]', async () => {
    const id = await draft();
    const posts = [{ integration: { id: org.channelId }, value: [{ id, content: TOO_LONG }] }];
    const update = () => world.posts.prepareCreate(org.orgId, CreateBody.parse({ type: 'update', posts }), org.userId);
    const { edits } = await update();
    await enter(id);
    await expect(
      world.actors(organizationActor, org.orgId).admit({ posts: [], edits, createdBy: org.userId }),
    ).rejects.toMatchObject({ code: 'conflict' });
    expect(await contentsOf(id)).toEqual(['<p>draft</p>']);
    await expect(update()).rejects.toMatchObject({ code: 'invalid_content' });
  });
});

test('a draft that is edited while it is judged is judged again before it is queued [S108]', async () => {
  const [fine, refused] = ['<p>fine</p>', TOO_LONG];
  const id = newId();
  const file = newId();
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, width, height)
    values (${file}, ${org.orgId}, 'a', 'a.png', ${`x/${file}`}, 'image', 'image/png', 1000, 100, 100)`;
  const media = [{ id: file, path: '', alt: '' }]; // whoever judges it reads files
  const one = newPost(org.channelId, { id, publishDate: inADay, state: 'DRAFT', content: fine, media });
  await admit(world, org.orgId, [one]);
  let scheduled: Promise<unknown>;
  await db.sql.begin(async (tx) => {
    await tx`lock table files in access exclusive mode`;
    scheduled = world.posts.editPost(org.orgId, id, { status: 'schedule' });
    scheduled.catch(() => undefined);
    await eventually('it has read the post', async () => (await waitingOnLock(db.sql, 'files')) === 1);
    await world.posts.editPost(org.orgId, id, { content: refused, unjudged: true });
  });
  await expect(scheduled!).rejects.toMatchObject({ code: 'invalid_content' });
  expect((await world.posts.getPost(org.orgId, id))[0]).toMatchObject({ state: 'DRAFT', content: refused });
});
