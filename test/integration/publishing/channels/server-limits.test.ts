import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client, SignedUp } from '../../../support/worlds/app.ts';
import { type Product, wholeProduct } from '../../../support/worlds/product.ts';
import { type SocialServer, startSocialServer } from '../../../support/peers/social-server.ts';

let product: Product;
let ann: SignedUp;
let key: Client;
let network: SocialServer;
beforeAll(async () => {
  product = await wholeProduct({ env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' } });
  ann = await product.signUp();
  key = await ann.withKey();
});
afterAll(() => product[Symbol.asyncDispose]());
beforeEach(async () => {
  network = await startSocialServer();
});
afterEach(() => network[Symbol.asyncDispose]());

const says = (statuses: object) => JSON.stringify({ domain: 'social.example', configuration: { statuses } });
async function connect(): Promise<string> {
  const begun = await ann.client.get(`/integrations/social/mastodon?externalUrl=${encodeURIComponent(network.url)}`);
  const { code, state } = network.consent(begun.body.url);
  const { status, body } = await ann.client.post('/integrations/social-connect/mastodon', { code, state });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.id;
}
const later = () => new Date(Date.now() + 3_600_000).toISOString();
const image = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `https://a.example/${n}.png` }));
const create = async (id: string, content: string, files = 0) => {
  const { status, body } = await key.post('/public/v1/posts', {
    type: 'schedule',
    date: later(),
    posts: [{ integration: { id }, value: [{ content, image: image(files) }] }],
  });
  return status === 201 ? 201 : [status, body.code, body.msg];
};
const settings = async (id: string) => (await key.get(`/public/v1/integration-settings/${id}`)).body.output;
const due = (id: string) => product.db.sql`update channels set server_limits_due_at = now() where id = ${id}`;
const sweep = () => product.context.sweeps.find(({ name }) => name === 'server-limits')!.run(500);

describe('limits of the server of a new channel', () => {
  test('a server with higher limits raises them, also in integration-settings', async () => {
    network.instance = says({ max_characters: 5_000, max_media_attachments: 6, characters_reserved_per_url: 30 });
    const id = await connect();
    expect(await create(id, 'x'.repeat(5_000), 6)).toBe(201);
    expect(await create(id, `${'x'.repeat(4_969)} https://a.example/${'y'.repeat(500)}`)).toBe(201);
    expect(await create(id, 'x'.repeat(5_001))).toEqual([
      400,
      'invalid_content',
      expect.stringContaining('longer than 5000 graphemes'),
    ]);
    expect(await create(id, 'x', 7)).toEqual([400, 'invalid_content', expect.stringContaining('at most 6 files')]);
    const { maxLength, rules } = await settings(id);
    expect([maxLength, rules]).toEqual([
      5_000,
      expect.stringMatching(/at most 5000 graphemes; at most 6 pictures.*every link counts as 30/),
    ]);
  });

  test('a server with lower limits refuses at create and at edit', async () => {
    network.instance = says({ max_characters: 100, max_media_attachments: 1 });
    const id = await connect();
    expect(await create(id, 'x'.repeat(101))).toEqual([
      400,
      'invalid_content',
      expect.stringContaining('longer than 100 graphemes'),
    ]);
    expect(await create(id, 'x', 2)).toEqual([400, 'invalid_content', expect.stringContaining('at most 1 files')]);
    expect(await create(id, 'x'.repeat(100), 1)).toBe(201);
    expect((await settings(id)).maxLength).toBe(100);
    const [post] = await product.db.sql<{ id: string }[]>`select id from posts where channel_id = ${id}`;
    const edited = await ann.client.send('PATCH', `/posts/${post!.id}`, { content: 'x'.repeat(101) });
    expect([edited.status, edited.body.code]).toEqual([400, 'invalid_content']);
  });

  test.each([
    ['says nothing', undefined],
    ['answers what is no JSON', '<html>busy</html>'],
    ['answers another shape', JSON.stringify([1, 2])],
    [
      'names impossible limits',
      says({ max_characters: -1, max_media_attachments: 'many', characters_reserved_per_url: 1e12 }),
    ],
    ['sends megabytes', `{"configuration":"${'x'.repeat(20_000_000)}"}`],
  ])('a server that %s leaves the limits of its network', async (_, instance) => {
    network.instance = instance;
    const id = await connect();
    expect(await create(id, 'x'.repeat(500), 4)).toBe(201);
    expect(await create(id, 'x'.repeat(501))).toEqual([
      400,
      'invalid_content',
      expect.stringContaining('longer than 500 graphemes'),
    ]);
    expect((await settings(id)).maxLength).toBe(500);
  });

  test('a server without limits gets what a post can hold', async () => {
    network.instance = says({ max_characters: 1_000_000, max_media_attachments: 100 });
    expect((await settings(await connect())).maxLength).toBe(100_000);
  });
});

test('the sweep reads changed limits of a server once, and a create never does', async () => {
  network.instance = says({ max_characters: 5_000 });
  const id = await connect();
  const asked = network.instanceAsked;
  network.instance = says({ max_characters: 1_000 });
  await sweep();
  expect(await create(id, 'x'.repeat(5_000))).toBe(201);
  expect(network.instanceAsked).toBe(asked); // it is not due
  await due(id);
  await Promise.all([sweep(), sweep()]);
  expect(network.instanceAsked).toBe(asked + 1);
  expect(await create(id, 'x'.repeat(1_001))).toEqual([
    400,
    'invalid_content',
    expect.stringContaining('longer than 1000 graphemes'),
  ]);
});

test('a server that fails later keeps its last limits', async () => {
  network.instance = says({ max_characters: 5_000 });
  const id = await connect();
  network.instance = 'no JSON';
  await due(id);
  await sweep();
  expect(await create(id, 'x'.repeat(5_000))).toBe(201);
});
