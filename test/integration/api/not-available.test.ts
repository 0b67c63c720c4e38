import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, type Client, type SignedUp } from '../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// What no part of the product does is refused, never stored and shown as if it were done.

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
const posts = async () => (await product.db.sql`select count(*)::int as n from posts`)[0]!['n'] as number;
const refused = (field: string) => ({
  status: 400,
  body: {
    code: 'not_available',
    errors: [{ field, message: `${field}: is not available yet`, rule: 'not_available' }],
  },
});
const expectRefused = (answer: Answer, field: string) =>
  expect({ status: answer.status, body: answer.body }).toMatchObject(refused(field));

describe('posts with unavailable fields', () => {
  const asked: [string, object][] = [
    ['republish', { republish: true }],
    ['order', { order: 'after' }],
  ];
  test.each(asked)(
    'a post with %s is refused, also as a draft and by key or session, and nothing is stored',
    async (field, more) => {
      const before = await posts();
      for (const type of ['schedule', 'draft', 'now'])
        expectRefused(await key.post('/public/v1/posts', body({ ...more, type })), field);
      expectRefused(await ann.client.post('/posts', body(more)), field);
      expect(await posts()).toBe(before);
    },
  );

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
