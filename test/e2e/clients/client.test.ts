import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openRookery, type RookeryOptions } from '../../../clients/typescript/src/index.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';
import { mcpWorld, type McpWorld } from '../../support/worlds/mcp.ts';

// The TypeScript client against the product.

let world: McpWorld;
beforeAll(async () => {
  world = await mcpWorld();
});
afterAll(async () => world[Symbol.asyncDispose]());

const client = (options: Partial<RookeryOptions> = {}) =>
  openRookery({ url: `${world.product.address}/api/`, credential: world.key.key, ...options });
const body = (content: string, date?: string) => ({
  type: date === undefined ? ('now' as const) : ('schedule' as const),
  ...(date !== undefined && { date }),
  posts: [{ integration: { id: world.channelId }, value: [{ content }] }],
});
const answered = (route: string) => world.product.answered.filter((one) => one.route === route).length;

describe('openRookery', () => {
  test('publishes a post and waits for it, below /api too', async () => {
    const rookery = client();
    const [created] = await rookery.createPosts(body('Hello'));
    const states: string[] = [];
    const post = await rookery.waitFor(created!, { onChange: ({ state }) => states.push(state) });
    expect([post.state, states.at(-1), post.releaseURL]).toEqual(['PUBLISHED', 'PUBLISHED', expect.any(String)]);
  });
  test('one idempotency key creates one post [S18]', async () => {
    const rookery = client();
    const make = () => rookery.createPosts(body('Once', '2031-01-01T00:00:00Z'), { idempotencyKey: 'client-1' });
    expect(await make()).toEqual(await make());
  });
  test('reads lists over all their pages', async () => {
    const rookery = client();
    const range = { startDate: '2031-06-01', endDate: '2031-06-30' };
    const made = [];
    for (let day = 10; day < 15; day += 1)
      made.push((await rookery.createPosts(body(`Day ${day}`, `2031-06-${day}T00:00:00Z`)))[0]!.postId);
    const found = [];
    const before = answered('/public/v1/posts');
    for await (const { id } of rookery.posts({ ...range, limit: 2 })) found.push(id);
    expect(found.toSorted()).toEqual(made.toSorted());
    expect(answered('/public/v1/posts') - before).toBe(3);
    const notifications = [];
    for await (const one of rookery.notifications()) notifications.push(one);
    expect(notifications).toEqual(expect.any(Array));
  });
  test('uploads a stream as it comes, and lists the file', async () => {
    const rookery = client();
    const head = Buffer.alloc(44);
    const size = 4 * 2 ** 20;
    head.write('RIFF');
    head.writeUInt32LE(36 + size, 4);
    head.write('WAVEfmt ', 8);
    for (const [at, value] of [
      [16, 16],
      [24, 44_100],
      [28, 88_200],
    ] as const)
      head.writeUInt32LE(value, at);
    for (const [at, value] of [
      [20, 1],
      [22, 1],
      [32, 2],
      [34, 16],
    ] as const)
      head.writeUInt16LE(value, at);
    head.write('data', 36);
    head.writeUInt32LE(size, 40);
    async function* sound() {
      yield head;
      for (let n = 0; n < 64; n += 1) yield Buffer.alloc(size / 64);
    }
    const file = await rookery.upload(sound(), { name: 'quiet.wav', type: 'audio/wav' });
    const listed = [];
    for await (const { id, originalName, size: bytes } of rookery.files({ type: 'audio' }))
      listed.push([id, originalName, bytes]);
    expect(listed).toEqual([[file.id, 'quiet.wav', size + 44]]);
  });
  test('throws a refusal with its faults [S3]', async () => {
    const wrong = { ...body('x'), posts: [{ integration: { id: 'nobody' }, value: [{ content: 'x' }] }] };
    await expect(client().createPosts(wrong)).rejects.toMatchObject({
      name: 'RookeryError',
      status: 400,
      faults: [expect.objectContaining({ field: expect.stringContaining('posts.0') })],
    });
    await expect(client({ credential: 'pm_live_away' }).me()).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
  });
  test('renews tokens once for many calls, and their family lives on', async () => {
    const app = await makeApp(world.ann);
    const { refresh } = await tokensFor(world.product, world.ann, app, { scope: 'mcp:read' });
    const kept: string[] = [];
    const rookery = client({
      credential: {
        accessToken: 'pos_ended',
        refreshToken: refresh,
        clientId: app.clientId,
        clientSecret: app.clientSecret,
        onRefresh: ({ refreshToken }) => void kept.push(refreshToken),
      },
    });
    const before = answered('/oauth/token');
    const all = await Promise.all(Array.from({ length: 8 }, () => rookery.me()));
    expect(all.map(({ orgId, scopes }) => [orgId, scopes])).toEqual(
      Array.from(all, () => [world.ann.orgId, ['mcp:read']]),
    );
    expect([answered('/oauth/token') - before, kept.length]).toEqual([1, 1]);
    expect(kept[0]).not.toBe(refresh);
    expect((await rookery.me()).orgId).toBe(world.ann.orgId);
  });
});
