import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { claimKey } from '../../../src/platform/db/index.ts';
import { newId, sha256 } from '../../../src/platform/kernel/index.ts';
import { replyToComment } from '../../../src/publishing/comments/reply.ts';
import type { OnceClass } from '../../../src/providers/registry/index.ts';
import type { NewComment } from '../../../src/providers/social/_contract.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { gate } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import {
  announcedOf,
  commentBy,
  holdSweeper,
  publishedPost,
  saidBelow,
  sweepNow,
} from '../../support/worlds/publishing/comments.ts';
import { abandon, followUpsOf, lostAnswer, makeDue } from '../../support/worlds/publishing/follow-ups.ts';
import {
  type Network,
  openNetwork,
  postActorOf,
  type Publisher,
  seedOrg,
  startPublisher,
} from '../../support/worlds/publishing/world.ts';

// Replies of channels to comments: each is written once, whatever becomes of hosts and answers.

let db: TestDatabase;
let network: Network;
let world: Publisher;
beforeAll(async () => {
  db = await testDatabase();
  await holdSweeper(db.sql);
  network = openNetwork();
  world = await startPublisher({ url: db.url, network });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** What was written below comments; `lose`: the answer does not arrive; `answers`: when it does. */
let written: { id: string; text: string; below: string; parent: string | undefined }[];
let asked: number;
let lose: boolean;
let answers: Promise<void>;
let said: ReturnType<typeof saidBelow>;
const declare = (once: OnceClass = 'key') => {
  const find = async ({ post }: NewComment) => {
    const found = written.find(({ id }) => id === post.id);
    return found && { id: `w-${found.id}`, url: '' };
  };
  network.declares.comment = {
    ...(once === 'at-most-once' ? { once } : { once, find }),
    replies: true,
    send: async ({ post, published, parent }: NewComment) => {
      asked += 1;
      written.push({ id: post.id, text: post.text, below: published.id, parent: parent?.id });
      if (lose) throw lostAnswer();
      await answers;
      return { id: `w-${post.id}`, url: 'https://fake.example/w' };
    },
  } as never; // the line of a channel is wider
};
beforeEach(() => {
  [written, asked, lose, answers] = [[], 0, false, Promise.resolve()];
  network.declares = {};
  said = saidBelow(network);
  declare();
});

/** A comment of somebody below a post of a channel. */
async function commented() {
  const { orgId, channelId } = await seedOrg(db.sql);
  const postId = await publishedPost(db.sql, { orgId, channelId });
  const comment = commentBy('Ann', { saved: { cid: 'c' } });
  said.pages = () => ({ comments: [comment] });
  await sweepNow(world, channelId);
  const [row] = (await world.context.comments.listComments(orgId, { limit: 1 })).items;
  await db.sql`delete from outbox where org_id = ${orgId}`;
  return { orgId, channelId, postId, comment, id: row!.id };
}
type Commented = Awaited<ReturnType<typeof commented>>;
const listed = async ({ orgId }: Commented, query: object = {}) =>
  (await world.context.comments.listComments(orgId, { limit: 100, ...query })).items;
const replyTo = ({ orgId, id }: Commented, content = '<p>Thanks</p>') =>
  world.context.comments.replyToComment(orgId, id, content);
const goOn = ({ orgId, postId }: Commented) => postActorOf(world, orgId, postId).followUp({});
const stateOf = async (one: Commented, replyId: string) =>
  (await listed(one)).find(({ id }) => id === replyId)?.reply ?? undefined;

describe('a reply to a comment', () => {
  test.each([
    [200, 150, 'posted'],
    [20, 50, 'longer than 20 characters'],
  ])('is held against the %i characters of the server of its channel', async (text, length, outcome) => {
    const one = await commented();
    await db.sql`
      update channels set server_limits = ${JSON.stringify({ text })}::text::jsonb where org_id = ${one.orgId}`;
    const replying = replyTo(one, 'x'.repeat(length));
    if (outcome !== 'posted') return expect(replying).rejects.toThrow(outcome);
    const { id } = await replying;
    await goOn(one);
    await settles(async () => expect(await stateOf(one, id)).toEqual({ state: 'posted', error: null }));
  });

  test('is written once, below the comment, and announced with what it says [S186, WH18]', async () => {
    const one = await commented();
    expect(await listed(one, { unanswered: true })).toHaveLength(1);
    const reply = await replyTo(one);
    expect(reply).toMatchObject({
      parentId: one.id,
      externalId: null,
      content: 'Thanks',
      authorName: 'Channel',
      isOwn: true,
      reply: { state: 'pending', error: null },
    });
    expect(await listed(one, { unanswered: true })).toEqual([]);
    await goOn(one);
    await settles(async () => expect(await stateOf(one, reply.id)).toEqual({ state: 'posted', error: null }));
    await goOn(one);
    await makeDue(world, one.postId);
    expect(written).toEqual([{ id: reply.id, text: 'Thanks', below: `r-${one.postId}`, parent: one.comment.id }]);
    expect(await announcedOf(db.sql, one.orgId)).toEqual([
      {
        topic: 'comment.reply',
        entityId: reply.id,
        payload: { channelId: one.channelId, postId: one.postId, content: 'Thanks', authorName: 'Channel' },
      },
    ]);
    const items = await listed(one);
    expect(items.find(({ id }) => id === reply.id)).toMatchObject({ externalId: `w-${reply.id}` });
    expect(items.find(({ id }) => id === one.id)!.repliedAt).toBeInstanceOf(Date);
    expect(await db.sql`select from post_timeline where post_id = ${one.postId}`).toEqual([]);
  });

  test('stands in one commit with the answer of its Idempotency-Key [S18]', async () => {
    const one = await commented();
    const key = { orgId: one.orgId, scope: 'test', key: 'once', claim: newId() };
    const reply = () => 'the answer';
    const send = (claim: string) =>
      world.context.comments.replyToComment(one.orgId, one.id, '<p>Thanks</p>', {
        key: { ...key, claim },
        status: 201,
        reply,
      });
    const replies = () => db.sql`select from post_follow_ups where post_id = ${one.postId}`;
    expect(await claimKey(db.sql, key, sha256('body'), 120_000)).toEqual({ kind: 'claimed' });
    await expect(send(newId())).rejects.toMatchObject({ code: 'conflict' }); // a request that took over has it now
    expect([await replies(), (await listed(one)).length]).toEqual([[], 1]);
    await send(key.claim);
    expect(await replies()).toHaveLength(1);
    expect(await claimKey(db.sql, { ...key, claim: newId() }, sha256('body'), 120_000)).toMatchObject({
      status: 201,
      reply: 'the answer',
    });
  });

  test.each([
    ['the channel', true],
    ['its bot', false],
  ])('that the sweep reads, as one of %s, is no second comment [S186]', async (_, isOfChannel) => {
    const one = await commented();
    const reply = await replyTo(one);
    const seen = commentBy('us', {
      id: `w-${reply.id}`,
      parentId: one.comment.id,
      author: { id: isOfChannel ? one.channelId : 'a bot', name: 'us' },
    });
    said.pages = () => ({ comments: [one.comment, seen] });
    await sweepNow(world, one.channelId); // before its answer is here
    expect(await listed(one)).toHaveLength(3);
    await goOn(one);
    await settles(async () => expect(await stateOf(one, reply.id)).toMatchObject({ state: 'posted' }));
    await sweepNow(world, one.channelId);
    expect((await listed(one)).map(({ id }) => id).toSorted()).toEqual([one.id, reply.id].toSorted());
    const answer = commentBy('Bob', { parentId: seen.id });
    said.pages = () => ({ comments: [one.comment, seen, answer] });
    await sweepNow(world, one.channelId);
    expect((await listed(one)).find(({ externalId }) => externalId === answer.id)).toMatchObject({
      parentId: reply.id,
    });
  });

  test('that the sweep reads before its answer is here is no news, whoever its author is there [S186]', async () => {
    const one = await commented();
    const open = gate();
    answers = open.passed;
    const reply = await replyTo(one);
    await goOn(one);
    await settles(() => expect(asked).toBe(1));
    const seen = commentBy('a bot', { id: `w-${reply.id}`, text: 'Thanks', parentId: one.comment.id });
    said.pages = () => ({ comments: [one.comment, seen] });
    await sweepNow(world, one.channelId);
    open.open();
    await settles(async () => expect(await stateOf(one, reply.id)).toMatchObject({ state: 'posted' }));
    await sweepNow(world, one.channelId);
    expect((await announcedOf(db.sql, one.orgId)).map(({ topic }) => topic)).toEqual(['comment.reply']);
    expect((await listed(one)).map(({ id }) => id).toSorted()).toEqual([one.id, reply.id].toSorted());
  });

  test('that is out is what an answer to it names, though no sweep has read it before [S186]', async () => {
    const one = await commented();
    const reply = await replyTo(one);
    await goOn(one);
    await settles(async () => expect(await stateOf(one, reply.id)).toMatchObject({ state: 'posted' }));
    const answer = commentBy('Bob', { parentId: `w-${reply.id}` });
    said.pages = () => ({ comments: [one.comment, answer] });
    await sweepNow(world, one.channelId);
    expect((await listed(one)).find(({ externalId }) => externalId === answer.id)).toMatchObject({
      parentId: reply.id,
    });
  });

  test('is refused where its post or channel is deleted while it is judged [S186]', async () => {
    for (const table of ['posts', 'channels']) {
      const one = await commented();
      const { channels } = world.context;
      const get: typeof channels.get = async (...named) => {
        const found = await channels.get(...named);
        await db.sql`update ${db.sql(table)} set deleted_at = now() where org_id = ${one.orgId}`;
        return found;
      };
      const replying = replyToComment({ sql: db.sql, channels: { ...channels, get } }, one.orgId, one.id, 'Thanks');
      await expect(replying).rejects.toMatchObject({ code: 'not_found' });
      expect(await db.sql`select from post_follow_ups where post_id = ${one.postId}`).toEqual([]);
    }
  });

  test('whose answer was lost is looked up, and not written again [S186]', async () => {
    const one = await commented();
    lose = true;
    const reply = await replyTo(one);
    await goOn(one);
    await settles(async () =>
      expect((await followUpsOf(db.sql, one.postId))[0]).toMatchObject({ state: 'unconfirmed' }),
    );
    await settles(async () => {
      await makeDue(world, one.postId);
      expect(await stateOf(one, reply.id)).toEqual({ state: 'posted', error: null });
    });
    expect(asked).toBe(1);
  });

  test('of a host that fell silent is looked up by another one, and not written again [S186]', async () => {
    const one = await commented();
    const reply = await replyTo(one);
    await abandon(db.sql, one.postId);
    written.push({ id: reply.id, text: 'Thanks', below: `r-${one.postId}`, parent: one.comment.id });
    await world.reconciler.sweep();
    await settles(async () => expect(await stateOf(one, reply.id)).toEqual({ state: 'posted', error: null }));
    expect(asked).toBe(0);
    expect(await db.sql`select from post_timeline where post_id = ${one.postId}`).toEqual([]);
  });

  test('that nobody can look up is never written a second time, and says so [S186]', async () => {
    declare('at-most-once');
    const one = await commented();
    lose = true;
    const reply = await replyTo(one);
    await goOn(one);
    await settles(async () => {
      await makeDue(world, one.postId);
      expect(await stateOf(one, reply.id)).toEqual({
        state: 'failed',
        error: expect.stringMatching(/It may be there/),
      });
    });
    expect(asked).toBe(1);
    expect(await listed(one, { unanswered: true })).toHaveLength(1); // somebody has to look
    expect(await announcedOf(db.sql, one.orgId)).toEqual([]);
  });

  test('waits for a brake that stands on its channel [S123]', async () => {
    const one = await commented();
    await db.sql`update channels set brakes = '{channel}' where id = ${one.channelId}`;
    const reply = await replyTo(one);
    await goOn(one);
    await db.sql`update channels set brakes = '{}' where id = ${one.channelId}`;
    expect(await stateOf(one, reply.id)).toEqual({ state: 'pending', error: null });
    await goOn(one);
    await settles(async () => expect(await stateOf(one, reply.id)).toMatchObject({ state: 'posted' }));
  });

  test('is refused where it could not be written, by the reason, and nothing is stored [S186]', async () => {
    const one = await commented();
    const refused = (code: string, message: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(message) });
    const tries = async (content = 'Thanks') => replyTo(one, content).catch((error: unknown) => error);
    expect(await tries('x'.repeat(101))).toEqual(refused('validation_failed', /^content: /));
    expect(await tries('<p> </p>')).toEqual(refused('validation_failed', /^content: must not be empty/));
    expect(await replyTo({ ...one, id: newId() }).catch((error: unknown) => error)).toEqual(
      refused('not_found', /Comment/),
    );
    await db.sql`update channels set disabled = true where id = ${one.channelId}`;
    expect(await tries()).toEqual(refused('conflict', /disabled/));
    await db.sql`update channels set disabled = false, refresh_needed = true where id = ${one.channelId}`;
    expect(await tries()).toEqual(refused('conflict', /login/));
    await db.sql`update channels set refresh_needed = false where id = ${one.channelId}`;
    delete network.declares.comment;
    expect(await tries()).toEqual(refused('invalid_request', /Fake takes no replies/));
    expect(await db.sql`select from post_follow_ups where post_id = ${one.postId}`).toEqual([]);
    expect(await listed(one)).toHaveLength(1);
  });
});
