import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, testApp } from '../../../support/worlds/app.ts';
import { callOf, type McpWorld, mcpWorld, rpc } from '../../../support/worlds/mcp.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { openSse, type SseStream } from '../../../support/wire/sse.ts';
import { startRedis } from '../../../support/wire/services.ts';
import { makeApp, tokensFor } from '../../../support/worlds/oauth.ts';

/** A process that has streams. */
const OWNER = fileURLToPath(new URL('../../../support/processes/scripts/stream-process.ts', import.meta.url));

let world: McpWorld;
beforeAll(async () => {
  world = await mcpWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const initialize = rpc('initialize', {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'old', version: '1' },
});
const open = (path: string, headers: Record<string, string>, address = world.product.address): Promise<SseStream> =>
  openSse(`${address}${path}`, headers);
const endpointOf = async (stream: SseStream): Promise<string> => {
  const first = await stream.next();
  expect(first.event).toBe('endpoint');
  return first.data;
};
const answerOn = async (stream: SseStream) => JSON.parse((await stream.next()).data);

describe('a legacy stream', () => {
  test('names where messages go, and brings their answers [MC3, S198, AU8]', async () => {
    const headers = { authorization: world.key.key };
    for (const [path, given] of [
      [`/sse/${world.ann.orgId}`, headers],
      [`/api/sse/${world.ann.orgId}`, headers],
      [`/sse/${world.key.key}`, {}],
    ] as const) {
      await using stream = await open(path, { ...given });
      const endpoint = await endpointOf(stream);
      expect(endpoint).toMatch(new RegExp(`^${path.replace('/sse/', '/message/')}\\?sessionId=[\\w.-]+$`));
      const client = new Client(world.product.address);
      client.headers = { ...given };
      for (const message of [initialize, rpc('tools/list'), callOf('list_channels')]) {
        expect([path, (await client.post(endpoint, message)).status]).toEqual([path, 202]);
        const answer = await answerOn(stream);
        expect([answer.id, answer.error]).toEqual([message.id, undefined]);
      }
    }
  });

  test('gets a refusal of a message as an error, and no HTTP status [S200]', async () => {
    const app = await makeApp(world.ann);
    const { access } = await tokensFor(world.product, world.ann, app, { scope: 'mcp:read' });
    const reader = new Client(world.product.address);
    reader.headers = { authorization: `Bearer ${access}` };
    await using stream = await open(`/sse/${world.ann.orgId}`, reader.headers);
    const endpoint = await endpointOf(stream);
    const message = callOf('create_post', world.post());
    expect((await reader.post(endpoint, message)).status).toBe(202);
    expect(await answerOn(stream)).toMatchObject({
      id: message.id,
      error: { code: -32_003, data: { code: 'insufficient_scope' } },
    });
    // another credential of the same person, and another person, have no such stream
    expect((await world.key.post(endpoint, rpc('ping'))).status).toBe(404);
    expect((await reader.post(endpoint.replace(/sessionId=.*/, 'sessionId=x.y'), rpc('ping'))).status).toBe(404);
  });

  test('notes calls with what the program called itself in the handshake, and has no subscriptions', async () => {
    await using stream = await open(`/sse/${world.ann.orgId}`, world.key.headers);
    const endpoint = await endpointOf(stream);
    const answered = async (message: object) => {
      expect((await world.key.post(endpoint, message)).status).toBe(202);
      return answerOn(stream);
    };
    await answered(initialize);
    const { id, result } = await answered(callOf('create_post', world.post()));
    expect([id, result.isError]).toEqual([expect.any(Number), undefined]);
    const { items } = (await world.ann.client.get('/settings/audit?limit=100')).body;
    const noted = items.filter(({ action }: { action: string }) => action === 'agent.create_post');
    expect(noted.map(({ detail }: { detail: { client: string } }) => detail.client)).toEqual(['old 1', 'old 1']);
    const listen = rpc('subscriptions/listen', { notifications: {} });
    expect(await answered(listen)).toMatchObject({ id: listen.id, error: { code: -32_601 } });
    expect(await answered(rpc('tools/call', { name: 'nothing' }))).toMatchObject({ error: { code: -32_602 } });
  });

  test('that is gone takes no messages, and a hundred of an organization are all there are [S198]', async () => {
    const headers = { authorization: world.key.key };
    const stream = await open(`/sse/${world.ann.orgId}`, headers);
    const endpoint = await endpointOf(stream);
    await stream[Symbol.asyncDispose]();
    const status = async () => (await world.key.post(endpoint, rpc('ping'))).status;
    while ((await status()) === 202) await new Promise((resolve) => setImmediate(resolve));
    expect(await status()).toBe(404);
    await using streams = new AsyncDisposableStack();
    let refused: number | undefined;
    for (let n = 0; n <= 100 && refused === undefined; n += 1)
      await open(`/sse/${world.ann.orgId}`, headers).then(
        (one) => void streams.use(one),
        (error: Error) => (refused = Number(error.message)),
      );
    expect(refused).toBe(429);
  });
});

test('a stream ends after its key is revoked or its app, and that of another key goes on', async () => {
  const bea = await world.product.signUp();
  const { access } = await tokensFor(world.product, bea, await makeApp(bea), { scope: 'mcp:read' });
  const { key } = await bea.withKey();
  const by = (authorization: string, orgId = bea.orgId) => open(`/sse/${orgId}`, { authorization });
  await using ofKey = await by(key);
  await using ofToken = await by(`Bearer ${access}`);
  await using other = await by(world.key.key, world.ann.orgId);
  const endpoint = await endpointOf(other);
  for (const path of ['/user/api-keys', '/user/approved-apps']) {
    const [{ id }] = (await bea.client.get(path)).body;
    expect((await bea.client.delete(`${path}/${id}`)).status).toBe(200);
  }
  await Promise.all([ofKey.ended(), ofToken.ended()]);
  expect((await world.key.post(endpoint, rpc('ping'))).status).toBe(202);
  expect(await answerOn(other)).toMatchObject({ result: {} });
}, 60_000);

test('a stream that is open takes no place of a request at work, and HEAD answers without one', async () => {
  const { sql } = world.product.db;
  await using other = await testApp({ sql, atWork: 2 }); // one for each organization
  const client = new Client(other.address);
  client.headers = world.key.headers;
  await using first = await open(`/sse/${world.ann.orgId}`, world.key.headers, other.address);
  await using second = await open(`/sse/${world.ann.orgId}`, world.key.headers, other.address);
  await endpointOf(first);
  await endpointOf(second);
  expect((await client.get('/public/v1/is-connected')).status).toBe(200);
  const { status, headers } = await fetch(`${other.address}/sse/${world.ann.orgId}`, {
    method: 'HEAD',
    headers: world.key.headers,
  });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
});

test('ending the API ends its streams at once [S198]', async () => {
  await using own = await mcpWorld();
  const stream = await open(`/sse/${own.ann.orgId}`, { authorization: own.key.key }, own.product.address);
  await endpointOf(stream);
  const ended = stream.ended();
  await own[Symbol.asyncDispose]();
  await ended;
}, 60_000);

const redis = await startRedis();
afterAll(async () => redis?.[Symbol.asyncDispose]()); // once more is no harm

(redis ? describe : describe.skip)('two processes with one Redis', () => {
  test('a message to a stream whose process was killed is answered 404 at once [S198]', async () => {
    await using first = await mcpWorld({ env: { REDIS_URL: redis!.url } });
    const { db, context } = first.product;
    const settings = JSON.stringify({ databaseUrl: db.url, redisUrl: redis!.url });
    const owner = spawn(process.execPath, ['--no-warnings', OWNER, settings], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    using _owner = { [Symbol.dispose]: () => void owner.kill('SIGKILL') };
    const [said] = (await once(owner.stdout, 'data')) as [Buffer];
    await using stream = await open(`/sse/${first.ann.orgId}`, first.key.headers, said.toString().trim());
    const endpoint = await endpointOf(stream);
    const status = async () => (await first.key.post(endpoint, rpc('ping'))).status;
    expect(await status()).toBe(202);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    // what the cache was told of the stream is good for longer, here for an hour
    const name = `mcp-stream|${endpoint.replace(/.*sessionId=/, '')}`;
    await context.cache.set(name, (await context.cache.get(name))!, 3_600_000);
    await eventually('the stream is gone', async () => (await status()) === 404);
  }, 60_000);

  test('have a hundred streams of an organization together [S198]', async () => {
    await using first = await mcpWorld({ env: { REDIS_URL: redis!.url } });
    await using second = await testApp({ sql: first.product.db.sql, env: { REDIS_URL: redis!.url } });
    await using streams = new AsyncDisposableStack();
    const addresses = [first.product.address, second.address];
    const begun = (n: number) => open(`/sse/${first.ann.orgId}`, { ...first.key.headers }, addresses[n % 2]);
    for (let n = 0; n < 100; n += 1) streams.use(await begun(n));
    for (const n of [0, 1]) await expect(begun(n)).rejects.toThrow('429');
    const bob = await first.product.signUp();
    const headers = (await bob.withKey()).headers;
    streams.use(await open(`/sse/${bob.orgId}`, { ...headers }, second.address)); // another organization has its own
    await streams.disposeAsync();
    await eventually('there is room again', () =>
      begun(1).then(
        (one) => one[Symbol.asyncDispose]().then(() => true),
        () => false,
      ),
    );
  }, 60_000);

  test('a message goes to the process that has the stream; 404 when that is gone, 503 while Redis is away [S198]', async () => {
    await using first = await mcpWorld({ env: { REDIS_URL: redis!.url } });
    await using second = await testApp({ sql: first.product.db.sql, env: { REDIS_URL: redis!.url } });
    await using stream = await open(`/sse/${first.ann.orgId}`, { authorization: first.key.key }, first.product.address);
    const endpoint = await endpointOf(stream);
    const other = new Client(second.address);
    other.headers = first.key.headers;
    const message = callOf('list_channels');
    expect((await other.post(endpoint, message)).status).toBe(202);
    expect(await answerOn(stream)).toMatchObject({ id: message.id, result: { structuredContent: { output: [{}] } } });
    const stranger = new Client(second.address);
    stranger.headers = (await first.ann.withKey()).headers;
    expect((await stranger.post(endpoint, rpc('ping'))).status).toBe(404); // another key of the same person
    const brief = await open(`/sse/${first.ann.orgId}`, { authorization: first.key.key }, first.product.address);
    const goneEndpoint = await endpointOf(brief);
    await brief[Symbol.asyncDispose]();
    await eventually('it is gone', async () => (await other.post(goneEndpoint, rpc('ping'))).status === 404);
    await redis![Symbol.asyncDispose]();
    await eventually('the message is refused', async () => (await other.post(endpoint, rpc('ping'))).status === 503);
    expect((await other.post('/mcp', rpc('ping'))).status).toBe(200);
  }, 60_000);
});
