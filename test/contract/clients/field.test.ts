import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request as send } from 'undici';
import { type ClientRequest, clientRequests } from '../../fixtures/client-requests.ts';
import { installPeer } from '../../support/peers/peer-install.ts';
import { newHome, runProgram, startProgram } from '../../support/peers/peer-program.ts';
import { describePeer } from '../../support/peers/peers.ts';
import { freePort } from '../../support/wire/ports.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';
import { type McpWorld, mcpWorld } from '../../support/worlds/mcp.ts';

// Clients in the field against the public API: the one that can be installed, unmodified, and the requests of others.

let world: McpWorld;
let receiver: Receiver;
let png: Buffer;
beforeAll(async () => {
  png = await picture(20, 20);
  receiver = await startReceiver({
    answer: (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(png),
  });
  const port = await freePort(); // the server names its own address
  const own = { PORT: String(port), NEXT_PUBLIC_BACKEND_URL: `http://127.0.0.1:${port}` };
  world = await mcpWorld({ env: { ...own, SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' } });
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** A draft; answers its id and its group. */
async function newDraft(): Promise<{ id: string; group: string }> {
  const { body } = await world.key.post('/public/v1/posts', {
    type: 'draft',
    date: '2031-03-01T10:00:00Z',
    shortLink: false,
    tags: [],
    posts: [{ integration: { id: world.channelId }, value: [{ content: 'Hello', image: [] }], settings: {} }],
  });
  const id = body[0].postId as string;
  return { id, group: (await world.key.get(`/public/v1/posts/${id}`)).body.group };
}

// oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
type Json = any;
/** Everything that is told under a name of an id; what a network calls its post is not ours. */
function idsIn(json: Json): string[] {
  if (Array.isArray(json)) return json.flatMap(idsIn);
  if (typeof json !== 'object' || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) =>
    typeof value === 'string' && /^(id|group|integration|.*Id)$/.test(name) && name !== 'releaseId'
      ? [value]
      : idsIn(value),
  );
}
const at = (json: Json, place: string) => place.split('.').reduce((inside, name) => inside?.[name], json);

/** Sends a request as it is, also a body of GET. */
async function sent({ method, path, body, form, headers: more }: ClientRequest) {
  const headers = { authorization: world.key.key, ...(body !== undefined && JSON_TYPE), ...more };
  const multipart = form && new Response(formOf(png, form));
  const { statusCode, ...answer } = await send(world.product.address + path, {
    method,
    headers: multipart ? { ...headers, 'content-type': multipart.headers.get('content-type')! } : headers,
    body: multipart ? Buffer.from(await multipart.arrayBuffer()) : body === undefined ? null : JSON.stringify(body),
  });
  return { status: statusCode, headers: answer.headers, text: await answer.body.text() };
}
const JSON_TYPE = { 'content-type': 'application/json' };

test('212 requests of four clients are taken as they are sent, and answered with what those read [T3, T4, T14, T17, T21]', async () => {
  const drafts = await Promise.all(Array.from({ length: 5 }, newDraft));
  const file = (await world.key.post('/public/v1/upload', formOf(png))).body;
  const spare = await world.ann.client.post('/integrations/social-connect/sandbox', {
    fields: { name: 'Spare' },
    allowPreview: true,
  });
  const requests = clientRequests({
    channel: world.channelId,
    picture: file.path,
    address: `${receiver.url}/a.png`,
    posts: drafts.map(({ id }) => id),
    groups: drafts.map(({ group }) => group),
    spare: spare.body.id,
  });
  expect(requests).toHaveLength(212);
  const ids: string[] = [];
  for (const request of requests) {
    const { status, headers, text } = await sent(request);
    const [words, json] = [`${request.client}: ${request.method} ${request.path}`, JSON.parse(text)];
    const asked = JSON.stringify(request.body);
    expect([words, asked, status, json.code, status === request.status ? '' : text]).toEqual([
      words,
      asked,
      request.status,
      request.code,
      '',
    ]);
    expect([words, request.reads.filter((place) => at(json, place) === undefined)]).toEqual([words, []]);
    expect([words, Number(headers['x-ratelimit-remaining']) >= 0]).toEqual([words, true]);
    ids.push(...idsIn(json));
  }
  expect(ids.length).toBeGreaterThan(500);
  expect(ids.filter((id) => !/^[A-Za-z0-9_-]{1,255}$/.test(id))).toEqual([]);
}, 120_000);

let folder = '';
const find = async () => {
  folder = await installPeer('postiz');
  return { start: () => Promise.reject(new Error('it is no server')) };
};
await describePeer('postiz', find, () => {
  const { home, drop } = newHome();
  afterAll(drop);
  const script = () => `${folder}/node_modules/postiz/dist/index.js`;
  /** Runs the command line with a key; answers the JSON that it prints behind its words. */
  async function postiz(...words: string[]): Promise<Json> {
    const { code, stdout, stderr } = await said(world.key.key, ...words);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    const from = stdout.search(/^[[{]/m);
    return from < 0 ? stdout : JSON.parse(stdout.slice(from));
  }
  const said = (key: string, ...words: string[]) =>
    runProgram(script(), words, { home, env: { POSTIZ_API_URL: world.product.address, POSTIZ_API_KEY: key } });
  const create = (...words: string[]) =>
    postiz('posts:create', '-i', world.channelId, '-s', '2031-03-01T10:00:00Z', ...words);

  test('lists channels with their settings, and asks a network [T21]', async () => {
    expect(await postiz('integrations:list')).toContainEqual(
      expect.objectContaining({ id: world.channelId, identifier: 'sandbox' }),
    );
    const { output } = await postiz('integrations:settings', world.channelId);
    expect(output.maxLength).toEqual(expect.any(Number));
    const [method] = output.tools;
    const asked = ['integrations:trigger', world.channelId, method?.methodName ?? 'none', '-d', '{}'];
    if (method) expect(await postiz(...asked)).toHaveProperty('output');
    expect(await said(world.key.key, 'integrations:trigger', world.channelId, 'none')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Tool not found'),
    });
  });

  test('creates posts and threads with media, lists and deletes them [T3, T4, T5, T21]', async () => {
    const [one] = await create('-c', 'Hello');
    const file = await postiz('upload', pathOf('a.png', png));
    const thread = ['-c', 'First', '-m', file.path, '-c', 'Second', '-d', '5', '--settings', '{"any":1}'];
    const [two] = await create(...thread);
    const draft = ['-c', 'Draft', '-t', 'draft', '--no-shortLink'];
    const [three] = await create(...draft);
    const { posts } = await postiz('posts:list', '--startDate', '2031-01-01', '--endDate', '2031-12-31');
    expect(posts.map(({ id }: Json) => id)).toEqual(expect.arrayContaining([one.postId, two.postId, three.postId]));
    const { body } = await world.key.get(`/public/v1/posts/${two.postId}`);
    expect([body.state, body.thread.length, body.image.length]).toEqual(['QUEUE', 1, 1]);
    expect(await postiz('posts:delete', one.postId)).toContain('deleted successfully');
    expect((await world.key.get(`/public/v1/posts/${one.postId}`)).status).toBe(404);
    expect(await said(world.key.key, 'posts:delete', one.postId)).toMatchObject({ code: 1 });
  });

  test.each(['png', 'mov', 'webm', 'mp3', 'pdf'])('uploads a file of %s [T9, T21]', async (extension) => {
    const file = await postiz('upload', pathOf(`thing.${extension}`, HEADS[extension] ?? png));
    expect(file.path).toMatch(new RegExp(`\\.${extension}$`));
  });

  test('looks for what a network has, connects it, and reads numbers [T12, T21]', async () => {
    const { id } = await newDraft();
    await world.product.db.sql`update posts set state = 'PUBLISHED', published_at = now() where id = ${id}`;
    expect(await postiz('posts:missing', id)).toEqual(expect.any(Array));
    expect(await postiz('posts:connect', id, '--release-id', '7321456789012345678')).toMatchObject({ id });
    expect((await world.key.get(`/public/v1/posts/${id}`)).body.releaseId).toBe('7321456789012345678');
    expect(await postiz('analytics:platform', world.channelId, '-d', '30')).toEqual(expect.any(Array));
    expect(await postiz('analytics:post', id)).toBeDefined();
  });

  test('tells a key that works from one that was revoked [T19, T21]', async () => {
    const key = await world.ann.withKey();
    expect((await said(key.key, 'auth:status')).stdout).toContain('Credentials are valid');
    const [{ id }] = (await world.ann.client.get('/user/api-keys')).body;
    await world.ann.client.delete(`/user/api-keys/${id}`);
    expect((await said(key.key, 'auth:status')).stdout).toContain('expired or invalid');
  });

  test('logs in by a code that a person confirms, and works with what it was given [T21, S95]', async () => {
    const own = newHome();
    try {
      const words = ['auth:login', '--auth-server', world.product.address];
      await using login = startProgram(script(), words, { home: own.home });
      let line = '';
      while (!/[A-Z0-9]{4}-[A-Z0-9]{4}/.test(line)) line = await login.line();
      const [code] = /[A-Z0-9]{4}-[A-Z0-9]{4}/.exec(line)!;
      expect((await world.ann.client.post('/device/approve', { user_code: code })).status).toBe(200);
      while (!line.includes('Successfully authenticated')) line = await login.line();
      const { stdout } = await runProgram(script(), ['integrations:list'], { home: own.home });
      expect(stdout).toContain(world.channelId);
    } finally {
      own.drop();
    }
  });

  function pathOf(name: string, data: Buffer): string {
    const path = join(home, name);
    writeFileSync(path, data);
    return path;
  }
});
