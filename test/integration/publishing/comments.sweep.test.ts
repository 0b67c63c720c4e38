import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ProviderError } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import {
  announcedOf,
  commentBy,
  holdSweeper,
  publishedPost,
  saidBelow,
  type SaidBelow,
  sweepNow,
} from '../../support/worlds/publishing/comments.ts';
import {
  type Network,
  openNetwork,
  type Publisher,
  seedOrg,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// What is read from the networks, over one that says what the test has it say.

let db: TestDatabase;
let network: Network;
let world: Publisher;
let said: SaidBelow;
beforeAll(async () => {
  db = await testDatabase();
  await holdSweeper(db.sql);
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, env: { SOCIAL_COMMENT_RETENTION_DAYS: '20' } });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => {
  network.declares = {};
  said = saidBelow(network);
});
const listed = async (orgId: string, query: object = {}) =>
  (await world.context.comments.listComments(orgId, { limit: 100, ...query })).items;
const askedReleases = () => [...new Set(said.asked.map(({ release }) => release))].toSorted();
/** A channel with one published post. */
async function channelWith(post: Parameters<typeof publishedPost>[2] = {}) {
  const { orgId, channelId, userId } = await seedOrg(db.sql);
  return { orgId, channelId, userId, postId: await publishedPost(db.sql, { orgId, channelId }, post) };
}

describe('a sweep of comments', () => {
  test('stores each comment once, and tells what people said, not what the channel did [S186, WH16]', async () => {
    const { orgId, channelId, userId } = await seedOrg(db.sql);
    const postId = await publishedPost(db.sql, { orgId, channelId }, { createdBy: userId });
    const first = commentBy('Ann', { text: 'Nice', author: { id: 'a', name: 'Ann', picture: 'https://a.example/p' } });
    const own = commentBy('us', { author: { id: channelId, name: 'us' }, parentId: first.id });
    said.pages = () => ({ comments: [first, own] });
    for (let n = 0; n < 3; n++) await sweepNow(world, channelId);
    const items = await listed(orgId);
    expect(items).toHaveLength(2);
    expect(items.find(({ isOwn }) => !isOwn)).toMatchObject({
      postId,
      channelId,
      externalId: first.id,
      parentId: null,
      content: 'Nice',
      authorName: 'Ann',
      authorPicture: 'https://a.example/p',
      hidden: false,
      done: false,
      repliedAt: own.createdAt, // answered at the network itself
    });
    const id = items.find(({ isOwn }) => !isOwn)!.id;
    expect(items.find(({ isOwn }) => isOwn)).toMatchObject({ parentId: id, repliedAt: null });
    expect(await announcedOf(db.sql, orgId)).toEqual([
      {
        topic: 'comment.new',
        entityId: id,
        payload: { channelId, postId, content: 'Nice', authorName: 'Ann' },
      },
      {
        topic: 'comment.synced',
        entityId: channelId,
        payload: {
          providerId: 'fake',
          name: 'Channel',
          count: 1,
          isBatch: false,
          minutes: 30,
          makers: [userId],
          content: 'Nice',
          authorName: 'Ann',
        },
      },
    ]);
  });

  test('knows the first comment of a post as own where its network names a bot as the author [S186, WH16]', async () => {
    const { orgId, channelId, postId } = await channelWith();
    const first = commentBy('bot');
    await db.sql`
      insert into post_follow_ups (org_id, post_id, kind, channel_id, state, release_id)
      values (${orgId}, ${postId}, 'first_comment', ${channelId}, 'done', ${first.id})`;
    said.pages = () => ({ comments: [first] });
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toMatchObject([{ externalId: first.id, isOwn: true }]);
    expect(await announcedOf(db.sql, orgId)).toEqual([]);
  });

  test('knows a comment as own that was stored as that of a stranger [S186]', async () => {
    const { orgId, channelId } = await channelWith();
    const own = commentBy('us', { author: { id: channelId, name: 'us' } });
    said.pages = () => ({ comments: [own] });
    await sweepNow(world, channelId);
    await db.sql`update social_comments set is_own = false where org_id = ${orgId}`;
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toMatchObject([{ externalId: own.id, isOwn: true }]);
    const renamed = { ...own, author: { id: 'another', name: 'renamed' } };
    said.pages = () => ({ comments: [renamed] });
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toMatchObject([{ authorName: 'renamed', isOwn: true }]);
  });

  test('tells more than ten as one number, and ten one by one [WH17]', async () => {
    for (const [count, topics] of [
      [10, [...Array.from({ length: 10 }, () => 'comment.new'), 'comment.synced']],
      [11, ['comment.synced']],
    ] as const) {
      const { orgId, channelId } = await channelWith();
      said.pages = () => ({ comments: Array.from({ length: count }, (_, n) => commentBy(String(n))) });
      await sweepNow(world, channelId);
      const facts = await announcedOf(db.sql, orgId);
      expect(facts.map(({ topic }) => topic)).toEqual(topics);
      expect(facts.at(-1)!.payload).toMatchObject({ count, isBatch: count > 10 });
    }
  });

  test('is silent at the first look at a post that is older than a day, to the end of its list [S186]', async () => {
    const { orgId, channelId } = await channelWith({ hours: 25 });
    const old = Array.from({ length: 12 }, (_, n) => ({ comments: [commentBy(`old ${n}`)], next: String(n + 1) }));
    said.pages = ({ cursor = '0' }) => old[Number(cursor)] ?? { comments: [] };
    await sweepNow(world, channelId); // ten pages
    expect(await listed(orgId)).toHaveLength(10);
    await sweepNow(world, channelId); // and the rest
    expect(await listed(orgId)).toHaveLength(12);
    expect(said.asked.map(({ cursor }) => cursor)).toEqual([
      undefined,
      ...Array.from({ length: 12 }, (_, n) => String(n + 1)),
    ]);
    expect(await announcedOf(db.sql, orgId)).toEqual([]);
    const fresh = commentBy('Ann');
    said.pages = () => ({ comments: [fresh] });
    await sweepNow(world, channelId);
    expect((await announcedOf(db.sql, orgId)).map(({ topic }) => topic)).toEqual(['comment.new', 'comment.synced']);
  });

  test('follows what is changed, hidden or deleted, and what comes back is no news [S186]', async () => {
    const { orgId, channelId } = await channelWith();
    const [kept, gone] = [commentBy('Ann'), commentBy('Bea')];
    said.pages = () => ({ comments: [kept, gone] });
    await sweepNow(world, channelId);
    const before = await announcedOf(db.sql, orgId);
    said.pages = () => ({ comments: [{ ...kept, text: 'Changed', hidden: true }] });
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toMatchObject([{ externalId: kept.id, content: 'Changed', hidden: true }]);
    const [row] =
      await db.sql`select content, author_name, author_id from social_comments where external_id = ${gone.id}`;
    expect(row).toEqual({ content: '', author_name: '', author_id: '' });
    said.pages = () => ({ comments: [gone] }); // one that is hidden is not listed everywhere
    await sweepNow(world, channelId);
    expect((await listed(orgId)).map(({ externalId }) => externalId).toSorted()).toEqual([kept.id, gone.id].toSorted());
    expect(await announcedOf(db.sql, orgId)).toEqual(before);
  });

  test('believes no list that its network may leave something out of', async () => {
    for (const [lists, left] of [
      ['some', ['below', 'top']],
      ['top', ['below']],
      [undefined, []],
    ] as const) {
      network.declares.commentReads = lists ? { lists } : {};
      const { orgId, channelId } = await channelWith();
      const parent = commentBy('parent');
      said.pages = () => ({
        comments: [
          parent,
          commentBy('top', { text: 'top' }),
          commentBy('below', { text: 'below', parentId: parent.id }),
        ],
      });
      await sweepNow(world, channelId);
      said.pages = () => ({ comments: [parent] });
      await sweepNow(world, channelId);
      const contents = (await listed(orgId)).map(({ content }) => content);
      expect(contents.filter((content) => content === 'top' || content === 'below').toSorted()).toEqual(left);
    }
  });

  test('deletes nothing where the network fails or was not read to the end', async () => {
    const { orgId, channelId } = await channelWith();
    said.pages = () => ({ comments: [commentBy('Ann')] });
    await sweepNow(world, channelId);
    for (const failure of ['unavailable', 'rejected', 'rate_limited'] as const) {
      said.pages = () => {
        throw new ProviderError(failure, 'no');
      };
      await sweepNow(world, channelId);
    }
    let page = 0;
    said.pages = () => ({ comments: [], next: String(++page) }); // a list without an end
    await sweepNow(world, channelId);
    expect(page).toBe(10);
    said.pages = ({ cursor }) => ({ comments: [], next: cursor === 'a' ? 'b' : 'a' }); // one that goes round
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toHaveLength(1);
  });

  test('looks at posts of 7 days each time and of 30 days once a day, no longer than comments are kept [S186]', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const at = (days: number) => publishedPost(db.sql, { orgId, channelId }, { hours: 24 * days });
    const [young, old] = [await at(6.9), await at(19.9)];
    await at(20.1);
    await sweepNow(world, channelId);
    expect(askedReleases()).toEqual([`r-${young}`, `r-${old}`].toSorted());
    said.asked.length = 0;
    await sweepNow(world, channelId);
    expect(askedReleases()).toEqual([`r-${young}`]);
    said.asked.length = 0;
    await db.sql`update comment_sweeps set whole_at = now() - interval '1 day' where channel_id = ${channelId}`;
    const ancient = commentBy('Ann', { createdAt: new Date(Date.now() - 21 * 86_400_000) });
    said.pages = () => ({ comments: [ancient] });
    await sweepNow(world, channelId);
    expect(askedReleases()).toEqual([`r-${young}`, `r-${old}`].toSorted());
    expect(await listed(orgId)).toEqual([]); // it would be deleted, and found again
  });

  test('looks at later items of a thread only where those are messages of their own, and stores none of them', async () => {
    const { orgId, channelId, postId } = await channelWith();
    const item = await publishedPost(db.sql, { orgId, channelId }, { root: postId });
    said.pages = () => ({ comments: [commentBy('us', { id: `r-${item}` })] });
    await sweepNow(world, channelId);
    expect(askedReleases()).toEqual([`r-${postId}`]);
    expect(await listed(orgId)).toEqual([]);
    network.declares.threads = 'message';
    await sweepNow(world, channelId);
    expect(askedReleases()).toEqual([`r-${postId}`, `r-${item}`].toSorted());
  });

  test('reads ten pages of a list that never ends, and the posts beside it at once or in the next round', async () => {
    const { orgId, channelId, postId } = await channelWith();
    const beside = await publishedPost(db.sql, { orgId, channelId });
    let told = 0;
    said.pages = ({ published: { id } }) =>
      id === `r-${postId}`
        ? { comments: Array.from({ length: 300 }, () => commentBy('Bot', { id: `c-${told++}` })), next: String(told) }
        : { comments: [commentBy('Ann', { id: `of-${beside}`, text: 'beside' })] };
    await sweepNow(world, channelId);
    await sweepNow(world, channelId);
    expect(said.asked.filter(({ release }) => release === `r-${postId}`).length).toBeLessThanOrEqual(20);
    expect((await listed(orgId, { postId: beside })).map(({ content }) => content)).toEqual(['beside']);
    expect((await db.sql`select from social_comments where post_id = ${postId}`).count).toBe(told);
  });

  test('leaves a list that repeats its pages, and stores each comment of it once', async () => {
    const { orgId, channelId } = await channelWith();
    const [first, second] = [commentBy('Ann'), commentBy('Bea')];
    said.pages = ({ cursor }) =>
      cursor === 'b'
        ? { comments: [second, first, second], next: 'a' }
        : { comments: [first, first], next: cursor === 'a' ? 'b' : 'a' };
    await sweepNow(world, channelId);
    expect(said.asked.map(({ cursor }) => cursor)).toEqual([undefined, 'a', 'b']);
    expect(await listed(orgId)).toHaveLength(2);
    const topics = ['comment.new', 'comment.new', 'comment.synced'];
    expect((await announcedOf(db.sql, orgId)).map(({ topic }) => topic)).toEqual(topics);
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toHaveLength(2);
    expect(await announcedOf(db.sql, orgId)).toHaveLength(3);
  });

  test('finds nothing new and nothing gone where a list comes in another order', async () => {
    const { orgId, channelId } = await channelWith();
    const all = Array.from({ length: 5 }, (_, n) => commentBy(String(n)));
    const inPages = (list: typeof all) => {
      said.pages = ({ cursor = '0' }) => ({
        comments: list.slice(Number(cursor), Number(cursor) + 2),
        ...(Number(cursor) + 2 < list.length && { next: String(Number(cursor) + 2) }),
      });
    };
    inPages(all);
    await sweepNow(world, channelId);
    const [before, facts] = [await listed(orgId), await announcedOf(db.sql, orgId)];
    expect(before).toHaveLength(5);
    inPages(all.toReversed());
    await sweepNow(world, channelId);
    expect(await listed(orgId)).toEqual(before);
    expect(await announcedOf(db.sql, orgId)).toEqual(facts);
  });

  test('keeps what others wrote bounded and in one piece', async () => {
    const { orgId, channelId } = await channelWith();
    said.pages = () => ({
      comments: [
        commentBy('long', { text: '👋'.repeat(20_000), saved: { x: 'y'.repeat(20_000) } }),
        commentBy('odd', {
          text: `a\0b\u202Ec\ud800`,
          author: { id: '\0', name: `x\u202Ey\n`, picture: 'javascript:alert(1)' },
        }),
        commentBy('html', { text: '<b>1 < 2</b>', saved: { x: '\0' } }),
        commentBy('nameless', { id: '' }),
        commentBy('endless', { id: 'x'.repeat(501) }),
        commentBy('timeless', { createdAt: new Date(NaN) }),
        commentBy('later', { text: 'later', createdAt: new Date('2999-01-01') }),
        commentBy('cut', { id: 'a\0b' }),
      ],
    });
    await sweepNow(world, channelId);
    const items = await listed(orgId);
    const [now] = await db.sql<{ now: Date }[]>`select now() as now`;
    expect(items.map(({ content }) => content).toSorted()).toEqual(
      ['👋'.repeat(10_000), 'abc\ufffd', '<b>1 < 2</b>', 'later'].toSorted(),
    );
    expect(items.find(({ content }) => content.startsWith('abc'))).toMatchObject({
      authorName: 'xy',
      authorPicture: null,
    });
    expect(items.every(({ createdAt }) => createdAt <= now!.now)).toBe(true);
  });
});
