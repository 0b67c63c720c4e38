import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { createHmac } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runCli } from '../../../clients/cli/src/run.ts';
import { settles } from '../../support/wire/settles.ts';
import { mcpWorld, type McpWorld } from '../../support/worlds/mcp.ts';

// The command line against the product: what it prints, keeps, and how it ends.

let world: McpWorld;
let home: string;
beforeAll(async () => {
  world = await mcpWorld();
});
afterAll(async () => world[Symbol.asyncDispose]());
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'rookery-cli-'))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A picture. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface Ran {
  status: number;
  out: string;
  err: string;
  json: any; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
}
interface How {
  env?: Record<string, string>;
  stdin?: string;
  signal?: AbortSignal;
  /** Told the words as they come. */
  heard?: (text: string) => void;
}
const machine = () => ({ ROOKERY_URL: world.product.address, ROOKERY_API_KEY: world.key.key });

async function rookery(
  words: readonly string[],
  { env = machine(), stdin = '', signal, heard }: How = {},
): Promise<Ran> {
  const ran = { out: '', err: '' };
  const status = await runCli(words, {
    env,
    configFolder: join(home, 'rookery'),
    stdin: Readable.from([Buffer.from(stdin)]),
    out: (text) => void (ran.out += text),
    err: (text) => {
      ran.err += text;
      heard?.(text);
    },
    signal: signal ?? new AbortController().signal,
  });
  expect(ran.out + ran.err).not.toContain(world.key.key);
  let json: unknown;
  try {
    json = JSON.parse(ran.out);
  } catch {
    json = undefined;
  }
  return { status, ...ran, json };
}
/** What a command prints as JSON, when it ends well. */
async function done(...words: string[]) {
  const ran = await rookery([...words, '--json']);
  if (ran.status !== 0) throw new Error(`${words.join(' ')} ended with ${ran.status}: ${ran.err}`);
  return ran.json;
}
const draft = async (text = 'Hello', ...more: string[]) =>
  (await done('posts', 'create', '--channel', world.channelId, '--text', text, '--draft', ...more))[0].postId as string;

describe('login', () => {
  test('with a key keeps it for its owner alone, and never prints it', async () => {
    const env = {};
    const words = ['login', '--url', world.product.address, '--key', '-'];
    expect(await rookery(words, { env, stdin: `${world.key.key}\n` })).toMatchObject({
      status: 0,
      out: expect.stringContaining('Acme Ltd'),
    });
    const file = join(home, 'rookery/profiles.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      default: { url: world.product.address, key: world.key.key },
    });
    expect(await rookery(['whoami', '--json'], { env })).toMatchObject({
      status: 0,
      json: { orgId: world.ann.orgId, url: world.product.address },
    });
    // it goes to no other service
    expect(await rookery(['whoami', '--url', 'http://127.0.0.1:9'], { env })).toMatchObject({ status: 3 });
    chmodSync(file, 0o644);
    expect(await rookery(['whoami'], { env })).toMatchObject({ status: 3, err: expect.stringContaining('chmod 600') });
    chmodSync(file, 0o600);
    const other = { ...machine(), ROOKERY_API_KEY: 'pm_live_of_nobody' };
    const second = ['--profile', 'second'];
    expect(await rookery(['login', '--key', world.key.key, ...second], { env: other })).toMatchObject({ status: 0 });
    expect(await rookery(['whoami', ...second], { env: other })).toMatchObject({ status: 0 });
    expect(await rookery(['whoami'], { env: other })).toMatchObject({ status: 3 });
    expect(await rookery(['logout'], { env })).toMatchObject({ status: 0 });
    expect(await rookery(['whoami'], { env })).toMatchObject({ status: 3, err: expect.stringContaining('login') });
  });
  test('by a code waits until it is confirmed, and keeps a key named CLI [S95]', async () => {
    const running = new AbortController();
    let said = '';
    const ended = runCli(['login', '--url', world.product.address], {
      env: {},
      configFolder: join(home, 'rookery'),
      stdin: Readable.from([]),
      out: () => undefined,
      err: (text) => void (said += text),
      signal: running.signal,
    });
    await settles(() => expect(said).toMatch(/enter the code \w{4}-\w{4}/));
    const [code] = /\w{4}-\w{4}(?=\s*$)/.exec(said)!;
    expect((await world.ann.client.post('/device/approve', { user_code: code })).status).toBe(200);
    expect(await ended).toBe(0);
    expect((await world.ann.client.get('/user/api-keys')).body[0]).toMatchObject({ name: 'CLI' });
    expect(await rookery(['whoami', '--json'], { env: {} })).toMatchObject({ json: { orgId: world.ann.orgId } });
  });
  test('with a revoked key keeps nothing [T19]', async () => {
    const { body: made } = await world.ann.client.post('/user/api-keys', { name: 'gone' });
    const keys = (await world.ann.client.get('/user/api-keys')).body as { id: string; name: string }[];
    const { id } = keys.find(({ name }) => name === 'gone')!;
    expect((await world.ann.client.delete(`/user/api-keys/${id}`)).status).toBe(200);
    const words = ['login', '--url', world.product.address, '--key', made.plaintext];
    expect(await rookery(words, { env: {} })).toMatchObject({
      status: 3,
      err: expect.stringMatching(/^rookery: Invalid API key\n/),
    });
    expect(await rookery(['channels'], { env: {} })).toMatchObject({ status: 3 });
  });
});

describe('posts', () => {
  test('are created at once and waited for; their timeline says how', async () => {
    const words = ['posts', 'create', '--channel', world.channelId, '--text', '-', '--wait'];
    const ran = await rookery([...words, '--json'], { stdin: 'From a <b>pipe</b>' });
    expect(ran).toMatchObject({ status: 0, err: expect.stringContaining('PUBLISHED') });
    const [{ postId }] = ran.json;
    expect(await done('posts', 'get', postId)).toMatchObject({
      state: 'PUBLISHED',
      creationMethod: 'CLI',
      releaseURL: expect.any(String),
    });
    expect((await done('posts', 'timeline', postId)).map(({ kind }: { kind: string }) => kind)).toContain('published');
    expect((await done('posts', 'wait', postId)).id).toBe(postId);
    expect(await done('posts', 'explain', postId)).toMatchObject({ summary: 'The post has not failed.' });
  });
  test('are edited, moved, queued for a date, cancelled and deleted', async () => {
    const date = '2030-05-06T07:08:00.000Z';
    const [{ postId }] = await done('posts', 'create', '--channel', world.channelId, '--text', 'A', '--date', date);
    expect(await done('posts', 'edit', postId, '--text', 'B', '--title', 'T')).toMatchObject({
      content: 'B',
      title: 'T',
    });
    expect(await done('posts', 'move', postId, '2030-05-07T07:08')).toMatchObject({
      publishDate: '2030-05-07T07:08:00.000Z',
      state: 'QUEUE',
    });
    const month = await rookery(['calendar', '2030-05']);
    expect(month.out.split('\n').map((line) => line.replace(/\s+/g, ' '))).toContain(
      `2030-05-07 07:08 ${postId} QUEUE scheduled net B`,
    );
    expect(await done('posts', 'cancel', postId)).toEqual({ id: postId, state: 'DRAFT' });
    expect(await rookery(['posts', 'wait', postId])).toMatchObject({ status: 4 });
    expect(await done('posts', 'delete', postId)).toEqual({ id: postId });
    expect(await rookery(['posts', 'get', postId])).toMatchObject({ status: 4, out: '' });
  });
  test('--dry-run says what would be refused, and stores nothing', async () => {
    const before = (await done('posts', 'list')).length;
    const words = ['posts', 'create', '--channel', world.channelId, '--dry-run', '--json'];
    expect(await rookery([...words, '--text', 'Fine'])).toMatchObject({ status: 0, json: [{ valid: true }] });
    expect(await rookery([...words, '--text', 'x'.repeat(100_000)])).toMatchObject({
      status: 4,
      json: [{ valid: false }],
    });
    expect(await rookery([...words, '--media', 'here.png'])).toMatchObject({ status: 2 });
    expect(await done('posts', 'list')).toHaveLength(before);
  });
  test('typed twice with one idempotency key are one', async () => {
    const more = ['--idempotency-key', 'cli-1', '--file', '-', '--json'];
    const body = { type: 'draft', posts: [{ integration: { id: world.channelId }, value: [{ content: 'Once' }] }] };
    const one = await rookery(['posts', 'create', ...more], { stdin: JSON.stringify(body) });
    const two = await rookery(['posts', 'create', ...more], { stdin: JSON.stringify(body) });
    expect([one.status, two.json]).toEqual([0, one.json]);
  });
  test('typed twice with one idempotency key and files to upload are one, with one upload of each', async () => {
    const file = join(home, 'twice.png');
    writeFileSync(file, PIXEL);
    const again = () => draft('Twice', '--media', file, '--media', file, '--idempotency-key', 'cli-2');
    expect(await again()).toBe(await again());
    const files = await done('media', 'list');
    expect(files.filter(({ originalName }: { originalName: string }) => originalName === 'twice.png')).toHaveLength(2);
  });
  test.each([
    ['bulk plan', (file: string) => ['bulk', 'plan', file, '--apply']],
    ['upload', (file: string) => ['upload', file]],
    ['webhooks create', () => ['webhooks', 'create', 'Twice', 'https://example.com/hook']],
  ])('%s, typed twice with one idempotency key, creates once', async (name, wordsOf) => {
    const file = join(home, 'rows.jsonl');
    const row = { type: 'draft', posts: [{ integration: { id: world.channelId }, value: [{ content: 'Row' }] }] };
    writeFileSync(file, name === 'upload' ? PIXEL : `${JSON.stringify(row)}\n`);
    const typed = () => rookery([...wordsOf(file), '--idempotency-key', `cli ${name}`, '--json']);
    const [one, two] = [await typed(), await typed()];
    expect([one.status, two.json]).toEqual([0, one.json]);
  });
  test('a text of somebody else does not steer the terminal', async () => {
    const id = await draft('a\u001b[31mred');
    expect((await rookery(['posts', 'get', id])).out).not.toContain('\u001b');
  });
});

describe('proposals', () => {
  test('create nothing before a person accepts them', async () => {
    const words = [
      '--channel',
      world.channelId,
      '--text',
      'May I?',
      '--date',
      '2030-03-04T05:06:07Z',
      '--settings',
      '{"a":[1]}',
    ];
    const { proposalId } = await done('proposals', 'create', ...words);
    expect(await done('proposals', 'get', proposalId)).toMatchObject({ status: 'pending', postIds: null });
    expect((await world.ann.client.post(`/proposals/${proposalId}/accept`, {})).status).toBeLessThan(300);
    const { status, postIds } = await done('proposals', 'get', proposalId);
    expect(status).toBe('accepted');
    const post = await done('posts', 'get', postIds[0]);
    expect([post.content, post.publishDate, JSON.parse(post.settings)]).toEqual([
      'May I?',
      '2030-03-04T05:06:07.000Z',
      expect.objectContaining({ a: [1] }),
    ]);
    expect(await rookery(['proposals', 'get', 'away'])).toMatchObject({ status: 4 });
  });
});

describe('files', () => {
  test('are uploaded as they are read, listed, used and deleted', async () => {
    const file = join(home, 'a.png');
    writeFileSync(file, PIXEL);
    const [uploaded] = await done('upload', file);
    expect(uploaded).toMatchObject({ originalName: 'a.png', path: expect.any(String) });
    expect((await done('media', 'list', '--limit', '1'))[0].id).toBe(uploaded.id);
    const id = await draft('With a picture', '--media', file);
    expect((await done('posts', 'get', id)).image).toHaveLength(1);
    expect(await done('media', 'delete', uploaded.id)).toEqual({ id: uploaded.id });
    expect(await rookery(['upload', join(home, 'away.png')])).toMatchObject({ status: 2 });
  });
});

describe('bulk', () => {
  test('judges rows of CSV, applies them once, and takes them back', async () => {
    const csv = `channel,text,date\n${world.channelId},"Quoted, ""twice""\nand broken",2030-01-02T03:04:05Z\nnobody,Bad,\n`;
    const planned = await rookery(['bulk', 'plan', '-', '--format', 'csv', '--json'], { stdin: csv });
    expect(planned).toMatchObject({
      status: 4,
      json: {
        rows: [
          { index: 0, valid: true },
          { index: 1, valid: false },
        ],
      },
    });
    const applied = await rookery(['bulk', 'apply', planned.json.planId, '--json']);
    expect(applied.json).toMatchObject({ created: 1 });
    const { content } = await done('posts', 'get', applied.json.rows[0].postId);
    expect(content).toContain('Quoted, ');
    expect(await done('bulk', 'undo', planned.json.planId)).toEqual({ deleted: 1, kept: [] });
    const { out } = await rookery(['bulk', 'plan', '-', '--format', 'csv'], {
      stdin: 'channel,text,date\nx,A,never\n',
    });
    expect(out).toMatch(/ no +date: is not a date/); // with its field once
    expect(await rookery(['bulk', 'plan', '-'], { stdin: '{"a":1}\nno json\n' })).toMatchObject({
      status: 2,
      err: 'rookery: Line 2 is not JSON\n',
    });
  });
});

describe('webhooks', () => {
  test('are created with a secret, listened to and verified', async () => {
    const made = await done(
      'webhooks',
      'create',
      'hook',
      'https://hooks.example/x',
      '--event',
      'post.published',
      '--secret',
    );
    expect(made.secret).toMatch(/^whsec_/);
    let words = '';
    const listening = rookery(['webhooks', 'listen', made.id, '--count', '1', '--interval', '1', '--json'], {
      heard: (text) => (words += text),
    });
    await settles(() => expect(words).toBe('listening behind 0\n'));
    const [{ postId }] = await done('posts', 'create', '--channel', world.channelId, '--text', 'Told');
    const heard = await listening;
    expect([heard.status, JSON.parse(heard.json.body)]).toEqual([
      0,
      expect.objectContaining({ event: 'post.published', data: expect.objectContaining({ postId }) }),
    ]);
    expect(await done('webhooks', 'events', made.id)).toEqual([heard.json]);
    const again = await rookery(['webhooks', 'listen', made.id, '--after', '0', '--count', '1', '--json']);
    expect([again.status, again.json]).toEqual([0, heard.json]);

    const body = heard.json.body as string;
    const at = Math.floor(new Date().getTime() / 1_000);
    const sign = (time: number) =>
      `v1,${createHmac('sha256', Buffer.from(made.secret.slice(6), 'base64'))
        .update(`msg_1.${time}.${body}`)
        .digest('base64')}`;
    const verify = (time: number, signature: string, stdin = body) =>
      rookery(['webhooks', 'verify', '-', '--id', 'msg_1', '--timestamp', `${time}`, '--signature', signature], {
        env: { ROOKERY_WEBHOOK_SECRET: made.secret },
        stdin,
      }).then(({ status }) => status);
    expect(await verify(at, sign(at))).toBe(0);
    expect(await verify(at, `v1,AAAA ${sign(at)}`)).toBe(0);
    expect(await verify(at, sign(at), `${body} `)).toBe(4);
    expect(await verify(at - 400, sign(at - 400))).toBe(4);
    expect(await done('webhooks', 'delete', made.id)).toMatchObject({ id: made.id });
  });
});

describe('the rest', () => {
  test('shows channels, their rules and free times, and numbers', async () => {
    expect((await rookery(['channels'])).out).toMatch(
      new RegExp(`^ID +NETWORK +NAME .*\n${world.channelId} +sandbox +net +ready`),
    );
    expect(await done('channels', 'rules', world.channelId)).toMatchObject({ maxLength: expect.any(Number) });
    expect(await done('channels', 'slot', world.channelId)).toEqual({ date: expect.stringMatching(/^\d{4}-.*\d$/) });
    expect(await done('analytics', 'channel', world.channelId)).toEqual(expect.any(Array));
  });
  test('mcp config says where an assistant connects, without a key', async () => {
    expect(await done('mcp', 'config', 'vscode')).toEqual({
      servers: { rookery: { type: 'http', url: `${world.product.address}/mcp` } },
    });
    expect(await rookery(['mcp', 'config', 'nobody'])).toMatchObject({ status: 2 });
  });
  test('help --json describes each command with a schema', async () => {
    const { commands, exit } = await done('help');
    expect(Object.keys(exit)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(commands).toContainEqual({
      command: 'posts move',
      description: 'Give a post another date.',
      usage: 'rookery posts move [options] <post> <date>',
      input: {
        type: 'object',
        properties: {
          post: { type: 'string', description: 'id of the post' },
          date: { type: 'string', description: 'when it goes out' },
        },
        required: ['post', 'date'],
        additionalProperties: false,
      },
    });
    for (const { command } of commands as { command: string }[])
      expect([command, (await rookery([...command.split(' '), '--help'])).status]).toEqual([command, 0]);
  });
});

describe('the end of a command', () => {
  test.each([
    [2, ['posts', 'create'], {}],
    [2, ['posts', 'create', '--date', 'soon'], {}],
    [2, ['posts', 'create', '--channel', 'c', '--text', 'x', '--timeout', '5'], {}],
    [2, ['posts', 'create', '--channel', 'c', '--text', 'x', '--dry-run', '--wait'], {}],
    [2, ['posts', 'create', '--file', '-', '--draft'], {}],
    [2, ['nothing'], {}],
    [2, 'webhooks verify - --id m --timestamp 1 --signature v1,x'.split(' '), { ROOKERY_WEBHOOK_SECRET: 'whsec_' }],
    [3, ['channels', '--profile', 'away'], {}],
    [3, ['channels'], { ROOKERY_API_KEY: 'pm_live_wrong' }],
    [3, ['channels'], { ROOKERY_API_KEY: 'pm_live_broken\nkey' }],
    [4, ['posts', 'get', 'away'], {}],
    [4, ['posts', 'explain', 'away'], {}],
    [7, ['channels'], { ROOKERY_URL: 'http://127.0.0.1:9' }],
  ])('is %i for %j', async (status, words, env) => {
    const ran = await rookery(words, { env: { ...machine(), ...env } });
    expect([ran.status, ran.out]).toEqual([status, '']);
    expect(ran.err).not.toBe('');
    expect(ran.err).not.toContain('pm_live');
  });
  test('says a refusal as JSON on the standard error with --json', async () => {
    const { out, err } = await rookery(['posts', 'get', 'away', '--json']);
    expect([out, JSON.parse(err)]).toEqual([
      '',
      expect.objectContaining({ statusCode: 404, code: 'not_found', exit: 4 }),
    ]);
  });
});
