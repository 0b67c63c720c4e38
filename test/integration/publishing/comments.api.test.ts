import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/index.ts';
import { tokenOf } from '../../../sandbox/rules.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { settles } from '../../support/wire/settles.ts';
import { holdSweeper } from '../../support/worlds/publishing/comments.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// The inbox as clients use it, with the sandbox network behind.

let product: Product;
let network: Awaited<ReturnType<typeof startSandbox>>;
let ann: SignedUp;
let member: Client;
let viewer: Client;
let channel: string;
let post: { id: string; releaseId: string };
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true });
  await holdSweeper(product.db.sql);
  network = await startSandbox({ sql: product.db.sql }); // another door to the same network
  await product.signUp();
  ann = await product.signUp();
  const as = async (role: string) => {
    const { client, userId } = await product.signUp();
    await product.db.sql`
      insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${userId}, ${role})`;
    client.headers['showorg'] = ann.orgId;
    return client;
  };
  [member, viewer] = [await as('member'), await as('viewer')];
  channel = (
    await ann.client.post('/integrations/social-connect/sandbox', { fields: { name: 'Ann' }, allowPreview: true })
  ).body.id;
  post = await publish();
}, 60_000);
afterAll(async () => {
  await network[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
});

async function publish(): Promise<typeof post> {
  const posts = [{ integration: { id: channel }, value: [{ content: 'Hello' }], settings: {} }];
  const { body } = await ann.client.post('/posts', { type: 'now', date: new Date().toISOString(), posts });
  const id = body[0].postId as string;
  let releaseId = '';
  await settles(async () => {
    const shown = (await ann.client.get(`/posts/${id}`)).body;
    expect(shown.state).toBe('PUBLISHED');
    releaseId = shown.releaseId;
  });
  return { id, releaseId };
}
/** Somebody says something at the network. */
async function say(text: string, { below = post.releaseId, account = 'bea' } = {}): Promise<string> {
  const answer = await fetch(`${network.url}/posts/${below}/comments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenOf(account, 1)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}
/** Asks for the comments of the channel, and lets the sweep run. */
async function sync() {
  expect(await ann.client.post('/comments/sync', { integrationId: channel })).toMatchObject({
    status: 200,
    body: { queued: true },
  });
  await product.context.comments.sweepComments(500);
}
const list = async (query = '', client = ann.client) => (await client.get(`/comments?${query}`)).body;
const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);

describe('GET /comments', () => {
  test('lists what people say below posts, newest first and page by page, and filters it [S186]', async () => {
    const other = await publish();
    const texts = Array.from({ length: 25 }, (_, n) => `Word ${n}`); // more than a page of the network
    const externals: string[] = [];
    for (const text of texts) externals.push(await say(text, { below: other.releaseId }));
    const answer = await say('An answer', { below: externals[0]!, account: 'cleo' });
    await sync();
    const { items } = await list(`postId=${other.id}&limit=100`);
    expect(items).toHaveLength(26);
    expect(items.map(({ createdAt }: { createdAt: string }) => createdAt)).toEqual(
      items
        .map(({ createdAt }: { createdAt: string }) => createdAt)
        .toSorted()
        .toReversed(),
    );
    const first = items.find(({ externalId }: { externalId: string }) => externalId === externals[0]);
    expect(first).toEqual({
      id: expect.any(String),
      postId: other.id,
      integrationId: channel,
      externalId: externals[0],
      parentId: null,
      content: 'Word 0',
      authorName: 'bea',
      authorPicture: null,
      createdAt: expect.any(String),
      repliedAt: null,
      hidden: false,
      done: false,
      isOwn: false,
      reply: null,
    });
    expect(items.find(({ externalId }: { externalId: string }) => externalId === answer).parentId).toBe(first.id);
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { items: { id: string }[]; nextCursor: string | null } = await list(
        `integrationId=${channel}&postId=${other.id}&limit=10${cursor && `&cursor=${cursor}`}`,
      );
      paged.push(...idsOf(page));
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(idsOf({ items }));
    expect(idsOf(await list(`postId=${other.id}`, viewer))).toHaveLength(26);
    expect(await list(`postId=${newId()}`)).toEqual({ items: [], nextCursor: null });
    expect(await list(`postId=nothing`)).toEqual({ items: [], nextCursor: null });
  });

  test('answers 400 for a channel whose network has none, 404 for a foreign one, and 400 for what it does not take [S186]', async () => {
    const other = newId();
    await product.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${other}, ${ann.orgId}, 'medium', 'v1', 'x', 'Articles', 'v2:')`;
    for (const refused of [
      await ann.client.get(`/comments?integrationId=${other}`),
      await ann.client.post('/comments/sync', { integrationId: other }),
    ]) {
      expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(refused.body.errors[0].field).toBe('integrationId');
    }
    const stranger = await product.signUp();
    expect((await stranger.client.get(`/comments?integrationId=${channel}`)).status).toBe(404);
    expect((await stranger.client.post('/comments/sync', { integrationId: channel })).status).toBe(404);
    for (const query of ['limit=0', 'limit=101', 'cursor=x', 'unanswered=perhaps', 'integrationId='])
      expect([query, (await ann.client.get(`/comments?${query}`)).status]).toEqual([query, 400]);
  });
});

describe('POST /comments/:id/reply', () => {
  test('answers the reply, which the network then has once below the comment [S186]', async () => {
    const below = await say('A question');
    await sync();
    const [asked] = (await list(`postId=${post.id}&unanswered=true`)).items;
    expect(asked).toMatchObject({ externalId: below, content: 'A question' });
    const key = { 'idempotency-key': newId() };
    const answers = [];
    for (let n = 0; n < 2; n++)
      answers.push(await member.send('POST', `/comments/${asked.id}/reply`, { content: '<b>Yes</b>' }, key));
    expect(answers.map(({ status, body }) => [status, body.id])).toEqual([
      [201, answers[0]!.body.id],
      [201, answers[0]!.body.id],
    ]);
    const reply = answers[0]!.body;
    expect(reply).toMatchObject({ parentId: asked.id, content: 'Yes', isOwn: true });
    await settles(async () => {
      const { items } = await list(`postId=${post.id}`);
      expect(items.find(({ id }: { id: string }) => id === reply.id)).toMatchObject({
        externalId: expect.any(String),
        reply: { state: 'posted', error: null },
      });
      expect(items.find(({ id }: { id: string }) => id === asked.id)).toMatchObject({ repliedAt: expect.any(String) });
    });
    await sync();
    expect((await list(`postId=${post.id}`)).items).toHaveLength(2);
    expect((await list(`postId=${post.id}&unanswered=true`)).items).toEqual([]);
    const ledger = (await ann.client.get(`/sandbox/ledger?integrationId=${channel}`)).body.items;
    expect(
      ledger
        .filter(({ step, accepted }: { step: string; accepted: boolean }) => step === 'comment' && accepted)
        .map(({ text }: { text: string }) => text),
    ).toEqual(['Yes']);
  });

  test('is for whoever may write comments [S186]', async () => {
    await say('Who may answer?');
    await sync();
    const [asked] = (await list(`postId=${post.id}&unanswered=true`)).items;
    expect((await viewer.post(`/comments/${asked.id}/reply`, { content: 'I' })).status).toBe(403);
    expect((await member.send('PATCH', `/comments/${asked.id}`, { done: true })).status).toBe(403);
    expect((await member.post('/comments/sync', { integrationId: channel })).status).toBe(403);
    expect((await ann.client.post(`/comments/${asked.id}/reply`, { content: '' })).status).toBe(400);
  });
});

describe('PATCH /comments/:id', () => {
  test('sets a comment to done, which takes it out of what is unanswered [S186]', async () => {
    const own = await publish();
    await say('Nothing to add', { below: own.releaseId });
    await sync();
    const unanswered = async () => idsOf(await list(`postId=${own.id}&unanswered=true`));
    const [id] = await unanswered();
    expect(await ann.client.send('PATCH', `/comments/${id}`, { done: true })).toMatchObject({
      status: 200,
      body: { id, done: true, hidden: false },
    });
    expect(await unanswered()).toEqual([]);
    await sync();
    expect(await unanswered()).toEqual([]);
    await ann.client.send('PATCH', `/comments/${id}`, { done: false });
    expect(await unanswered()).toEqual([id]);
    for (const body of [{}, { done: 1 }, { other: true }])
      expect((await ann.client.send('PATCH', `/comments/${id}`, body)).status).toBe(400);
  });

  test('hides a comment at its network, and shows it again [S186]', async () => {
    const own = await publish();
    const external = await say('Rude', { below: own.releaseId });
    await sync();
    const [{ id }] = (await list(`postId=${own.id}`)).items;
    const stepsAt = async () =>
      (
        await product.db.sql<{ step: string }[]>`
          select step from sandbox_ledger where post_id = ${external} order by seq`
      ).map(({ step }) => step);
    for (const hidden of [true, false]) {
      expect(await ann.client.send('PATCH', `/comments/${id}`, { hidden })).toMatchObject({
        status: 200,
        body: { hidden },
      });
      await sync();
      expect((await list(`postId=${own.id}`)).items[0].hidden).toBe(hidden);
    }
    expect(await stepsAt()).toEqual(['comment', 'hide', 'show']);
  });

  test('answers 400 by the field where the network hides nothing, and changes nothing [S186]', async () => {
    const [other, id] = [newId(), newId()];
    await product.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${other}, ${ann.orgId}, 'mastodon', 'v1', 'x', 'M', 'v2:')`;
    await product.db.sql`
      insert into social_comments (id, org_id, channel_id, post_id, external_id, content, author_id, author_name, is_own,
        created_at)
      values (${id}, ${ann.orgId}, ${other}, ${post.id}, 'e', 'Hi', 'a', 'A', false, now())`;
    const { status, body } = await ann.client.send('PATCH', `/comments/${id}`, { hidden: true, done: true });
    expect([status, body.errors[0].field]).toEqual([400, 'hidden']);
    expect(await product.db.sql`select done, hidden from social_comments where id = ${id}`).toEqual([
      { done: false, hidden: false },
    ]);
  });
});

test('a comment that is deleted at the network leaves the inbox [S186]', async () => {
  const own = await publish();
  const external = await say('Wrong place', { below: own.releaseId });
  await sync();
  expect((await list(`postId=${own.id}`)).items).toHaveLength(1);
  await fetch(`${network.url}/posts/${external}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${tokenOf('bea', 1)}` },
  });
  await sync();
  expect((await list(`postId=${own.id}`)).items).toEqual([]);
});
