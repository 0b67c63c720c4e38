import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, type SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Fields that clients of other services send, and empty values of fields.

let product: Product;
let ann: SignedUp;
let key: Client;
let channel: string;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true });
  ann = await product.signUp();
  key = await ann.withKey();
  channel = (
    await ann.client.post('/integrations/social-connect/sandbox', { fields: { name: 'Net' }, allowPreview: true })
  ).body.id;
});
afterAll(() => product[Symbol.asyncDispose]());

const later = () => new Date(Date.now() + 3_600_000).toISOString();
const body = (more: object = {}, settings: object = {}) => ({
  type: 'schedule',
  date: later(),
  ...more,
  posts: [{ integration: { id: channel }, value: [{ content: 'x' }], settings }],
});

describe('posts with fields of other services', () => {
  test.each([
    ['republish', { republish: true }],
    ['order', { order: 'after' }],
  ])('%s is accepted with any value, and has no effect', async (_, more) => {
    const stored = async (given: object) => {
      const { status, body: made } = await key.post('/public/v1/posts', body(given));
      const rows = await product.db.sql`
        select state, detail, settings, recurrence, interval_in_days from posts where id = ${made[0].postId}`;
      return { status, rows: [...rows] };
    };
    for (const type of ['schedule', 'draft'])
      expect(await stored({ ...more, type })).toEqual({ ...(await stored({ type })), status: 201 });
    expect((await ann.client.post('/posts', body(more))).status).toBe(201);
  });

  test.each([
    { inter: 0, order: '', republish: false, recurrence: null, timezone: null },
    { inter: null, order: null, republish: null, recurrence: {}, timezone: '' },
    { order: [], republish: 0, timezone: undefined },
  ])('a post with empty values of the fields is accepted: %j', async (more) => {
    const off = {
      firstComment: '',
      'plug--like--active': false,
      'plug--like--integrations': [{ id: 'x' }],
      'plug--like--message': 'hi',
      'plug--more--integrations': [],
    };
    const answer = await key.post('/public/v1/posts', body(more, off));
    expect(answer.status).toBe(201);
    const { body: post } = await ann.client.get(`/posts/${answer.body[0].postId}`);
    expect(post).toMatchObject({
      intervalInDays: null,
      firstComment: { state: 'none', error: null },
      firstCommentPostedAt: null,
      approval: null,
    });
  });

  test('a post stored with such fields by an earlier release does not show them', async () => {
    const id = (await key.post('/public/v1/posts', body())).body[0].postId as string;
    await product.db.sql`update posts set interval_in_days = 1 where id = ${id}`;
    expect((await ann.client.get(`/posts/${id}`)).body).toMatchObject({ intervalInDays: null });
    expect((await key.get(`/public/v1/posts/${id}`)).body).toMatchObject({ intervalInDays: null });
  });
});
