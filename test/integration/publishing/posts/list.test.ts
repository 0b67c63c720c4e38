import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import type { Client, SignedUp } from '../../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../../support/worlds/product.ts';

const COUNT = 10_050;
const RANGE = 'startDate=2031-05-01&endDate=2031-06-01';
const lists = ['/posts', '/public/v1/posts'] as const;

let product: Product;
let ann: SignedUp;
let key: Client;
/** All posts by date, and by number where dates are the same to the microsecond. */
let ids: string[];
const clientOf = (path: string): Client => (path === '/posts' ? ann.client : key);
beforeAll(async () => {
  product = await wholeProduct();
  const { sql } = product.db;
  ann = await product.signUp();
  key = await ann.withKey();
  const channel = newId();
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${ann.orgId}, 'sandbox', 'v1', 'x', 'Net', '')`;
  // many with the same date, many a microsecond apart
  await sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, content_clean, publish_date)
    select gen_random_uuid(), ${ann.orgId}, ${channel}, 'g', 'DRAFT', n::text, true,
      timestamptz '2031-05-02T10:00:00Z' + (n / 7) * interval '1 microsecond' + (n / 100) * interval '1 minute'
    from generate_series(1, ${COUNT}::int) n order by random()`;
  ids = (await sql<{ id: string }[]>`select id from posts order by publish_date, seq`).map(({ id }) => id);
}, 120_000);
afterAll(() => product[Symbol.asyncDispose]());

test('GET /posts/group/:group refuses a group with more posts than one answer holds', async () => {
  const { status, body } = await ann.client.get('/posts/group/g');
  expect([status, body.errors]).toEqual([
    400,
    [{ field: 'group', message: expect.stringMatching(/more than 10000 posts/), rule: 'too_many' }],
  ]);
});

describe.each(lists)('GET %s', (path) => {
  const get = async (query: string) => clientOf(path).get(`${path}?${query}`);

  test('refuses a range with more posts than one answer holds, and names the remedy', async () => {
    const { status, body } = await get(RANGE);
    expect([status, body.code, body.errors]).toEqual([
      400,
      'validation_failed',
      [
        {
          field: 'endDate',
          message: expect.stringMatching(/more than 10000 posts.*limit and cursor/),
          rule: 'too_many',
        },
      ],
    ]);
  });

  test('refuses a range that ends before it starts [S6]', async () => {
    for (const query of [
      'startDate=2031-06-01&endDate=2031-05-01',
      'startDate=2031-06-01&endDate=2031-05-01&limit=5',
    ]) {
      const { status, body } = await get(query);
      expect([status, body.code, body.errors[0]]).toEqual([
        400,
        'validation_failed',
        expect.objectContaining({ field: 'endDate', rule: 'too_small' }),
      ]);
    }
    expect((await get('startDate=2031-06-01&endDate=2031-06-01')).body).toEqual({ posts: [] });
  });

  test('answers a shorter range whole, with the keys that clients know', async () => {
    const { status, body } = await get('startDate=2031-05-01&endDate=2031-05-02T10:10:00Z');
    expect([status, Object.keys(body), body.posts.length > 900]).toEqual([200, ['posts'], true]);
    expect(body.posts.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, body.posts.length));
  });

  test('pages cover each post once, in order', async () => {
    const seen: string[] = [];
    let cursor: string | null = '';
    let parts = 0;
    while (cursor !== null) {
      const { status, body } = await get(`${RANGE}&limit=999&cursor=${encodeURIComponent(cursor)}`);
      expect(status).toBe(200);
      seen.push(...body.posts.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
      parts += 1;
    }
    expect([parts, seen.length]).toEqual([Math.ceil(COUNT / 999), COUNT]);
    expect(seen).toEqual(ids);
  }, 120_000);

  test.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=ten', 'limit'],
    ['cursor=x', 'cursor'],
    ['cursor=2031-13-01T00:00:00.000000_1', 'cursor'],
    ['cursor=2031-05-01T25:00:00.000000_1', 'cursor'],
    ['cursor=2031-05-01T00:00:00.000000_1x', 'cursor'],
  ])('refuses %s by the name of its field', async (query, field) => {
    const { status, body } = await get(`${RANGE}&${query}`);
    expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
  });

  test('ignores unknown keys [T8]', async () => {
    const { status, body } = await get('display=week&page=3&startDate=2031-05-01&endDate=2031-05-02T10:01:00Z');
    expect([status, Object.keys(body)]).toEqual([200, ['posts']]);
  });
});
