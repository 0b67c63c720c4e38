import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startReceiver, type Received, type ReceiverAnswer } from '../../../test/support/wire/receiver.ts';
import { dataOf, openRookery, type Rookery, RookeryError, type RookeryOptions, UnreachableError } from './index.ts';

// The ways in which a service and its network can be away, played by a server of the test.

let service: Awaited<ReturnType<typeof startReceiver>>;
afterEach(async () => service[Symbol.asyncDispose]());

type Step = [status: number, body: unknown, headers?: Record<string, string>] | 'cut';
/** Answers each request by the next step, the last one for ever. */
async function play(steps: readonly Step[], options: Partial<RookeryOptions> = {}) {
  let n = 0;
  const answer: ReceiverAnswer = (response) => {
    const step = steps[Math.min(n++, steps.length - 1)]!;
    if (step === 'cut') return void response.socket!.destroy();
    const [status, body, headers] = step;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  service = await startReceiver({ answer });
  const slept: number[] = [];
  let now = 1_000_000;
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms);
      now += ms;
    },
  };
  return { rookery: openRookery({ url: service.url, credential: 'key', clock, ...options }), slept };
}
const keysOf = (ledger: readonly Received[]) => ledger.map(({ headers }) => headers['idempotency-key']);
const refusal = (statusCode: number, code: string, more: object = {}) => ({
  statusCode,
  error: 'Why',
  message: 'No',
  msg: 'No',
  code,
  ...more,
});
const ended = { accessToken: 'old', refreshToken: 'r1', clientId: 'c', expiresAt: 0 };
const body = { type: 'draft' as const, posts: [{ integration: { id: 'c' }, value: [{ content: 'Hi' }] }] };

describe('a call', () => {
  test('waits for Retry-After and is sent again, with the same idempotency key', async () => {
    const { rookery, slept } = await play([
      [429, refusal(429, 'rate_limited'), { 'retry-after': '7' }],
      [503, refusal(503, 'draining'), { 'retry-after': '2' }],
      [409, refusal(409, 'idempotency_in_flight'), { 'retry-after': '1' }],
      [201, [{ postId: 'p', integration: 'c' }]],
    ]);
    expect(await rookery.createPosts(body)).toEqual([{ postId: 'p', integration: 'c' }]);
    expect(slept).toEqual([7_000, 2_000, 1_000]);
    expect(new Set(keysOf(service.ledger)).size).toBe(1);
    expect(keysOf(service.ledger)[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(service.ledger.map((one) => JSON.parse(one.body.toString()))).toEqual([body, body, body, body]);
  });
  test('does not wait longer than it may', async () => {
    const { rookery, slept } = await play([[429, refusal(429, 'rate_limited'), { 'retry-after': '61' }]]);
    await expect(rookery.me()).rejects.toMatchObject({ status: 429, code: 'rate_limited', retryAfterSeconds: 61 });
    expect([slept, service.ledger.length]).toEqual([[], 1]);
  });
  test.each([429, 503])(
    'repeats nothing with maxWaitMs 0, and pauses where a refusal of %i asks for no wait',
    async (status) => {
      const steps: Step[] = [
        [status, refusal(status, 'rate_limited'), { 'retry-after': '0' }],
        [status, refusal(status, 'rate_limited'), { 'retry-after': '0' }],
        [200, []],
      ];
      const never = await play(steps, { maxWaitMs: 0 });
      await expect(never.rookery.channels()).rejects.toMatchObject({ status, retryAfterSeconds: 0 });
      expect([never.slept, service.ledger.length]).toEqual([[], 1]);
      await service[Symbol.asyncDispose]();
      const { rookery, slept } = await play(steps);
      expect(await rookery.channels()).toEqual([]);
      expect(slept).toEqual([250, 250]);
      await service[Symbol.asyncDispose]();
      const always = await play(steps.slice(0, 1));
      await expect(always.rookery.channels()).rejects.toMatchObject({ status });
      expect(always.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(60_000);
    },
  );
  test('is sent again when the connection breaks or a proxy answers, where that creates nothing twice', async () => {
    const { rookery, slept } = await play(['cut', [502, '<h1>Bad gateway</h1>'], [201, []]]);
    await rookery.createPosts(body, { idempotencyKey: 'mine' });
    expect([slept, keysOf(service.ledger)]).toEqual([
      [250, 1_000],
      ['mine', 'mine', 'mine'],
    ]);
  });
  test.each([
    [
      'pause',
      (rookery: ReturnType<typeof openRookery>) =>
        dataOf(rookery.api.POST('/public/v1/posts/pause', { body: { scope: 'org' } })),
    ],
    ['delete', (rookery: ReturnType<typeof openRookery>) => rookery.deletePost('p')],
  ])('is not sent again where nobody knows what became of it: %s', async (_, call) => {
    const { rookery } = await play(['cut']);
    await expect(call(rookery)).rejects.toThrow(UnreachableError);
    expect(service.ledger).toHaveLength(1);
  });
  test.each([
    ['unavailable', 1],
    ['busy', 2],
    ['draining', 2],
  ])('that must not be done twice is sent again after 503 only where nothing was done: %s', async (code, times) => {
    const { rookery } = await play([
      [503, refusal(503, code), { 'retry-after': '2' }],
      [200, {}],
    ]);
    await dataOf(rookery.api.POST('/public/v1/posts/pause', { body: { scope: 'org' } })).catch(() => undefined);
    expect(service.ledger).toHaveLength(times);
  });
  test('that may be done twice waits as long as a service without its database says', async () => {
    const { rookery, slept } = await play([
      [503, refusal(503, 'unavailable'), { 'retry-after': '2' }],
      [201, []],
    ]);
    await rookery.createPosts(body);
    expect([slept, new Set(keysOf(service.ledger)).size]).toEqual([[2_000], 1]);
  });
  test('gives up on a service that stays away, and on one that refuses', async () => {
    const { rookery, slept } = await play(['cut']);
    await expect(rookery.me()).rejects.toThrow(/^http:\/\/127\.0\.0\.1:\d+ cannot be reached: /);
    expect(slept).toEqual([250, 1_000, 4_000]);
    await service[Symbol.asyncDispose]();
    const { rookery: other } = await play([[500, refusal(500, 'internal', { requestId: 'r' })]]);
    await expect(other.me()).rejects.toMatchObject({ status: 500, requestId: 'r' });
    expect(service.ledger).toHaveLength(1);
  });
  test('ends when its caller wishes, and when no answer comes', async () => {
    service = await startReceiver({ answer: () => undefined });
    const rookery = openRookery({ url: service.url, timeoutMs: 30, maxWaitMs: 0 });
    await expect(rookery.me()).rejects.toThrow(/no answer in 30 ms/);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(rookery.request('/public/v1/me', { signal })).rejects.toThrow('enough');
  });
  test.each([200, 500])(
    'ends when the body of an answer with %i falls silent',
    async (status) => {
      service = await startReceiver({
        answer: (response) => void response.writeHead(status, { 'content-type': 'application/json' }).write('{"id":'),
      });
      const rookery = openRookery({ url: service.url, timeoutMs: 30, maxWaitMs: 0 });
      await expect(rookery.me()).rejects.toThrow(status === 200 ? /no answer in 30 ms/ : /answered 500/);
      await expect(rookery.upload(new Blob(['x']).stream(), { name: 'x' })).rejects.toThrow(/30 ms|answered 500/);
    },
    5_000,
  );
  test('lasts as long as its body comes, and a stream of events as long as it is open', async () => {
    const bodyOf = async (response: ServerResponse, type: string, pieces: readonly string[], everyMs: number) => {
      response.writeHead(200, { 'content-type': type }).flushHeaders();
      for (const piece of pieces) {
        await new Promise((passed) => setTimeout(passed, everyMs));
        response.write(piece);
      }
      response.end();
    };
    service = await startReceiver({
      answer: (response, { path }) =>
        void (path === '/stream'
          ? bodyOf(response, 'text/event-stream; charset=utf-8', ['data: 1\n\n'], 1_000)
          : bodyOf(response, 'application/json', ['{"id"', ':"', 'a', 'b', 'c', 'd', 'e"', '}'], 100)),
    });
    const rookery = openRookery({ url: service.url, timeoutMs: 500, maxWaitMs: 0 });
    expect(await rookery.me()).toEqual({ id: 'abcde' });
    expect(await (await rookery.request('/stream')).text()).toBe('data: 1\n\n');
  }, 10_000);
  test.each([
    ['data', '<!doctype html>', {}, (rookery: Rookery) => rookery.me()],
    ['a file', '<!doctype html>', {}, (rookery: Rookery) => rookery.upload(new Uint8Array([1]), { name: 'x' })],
    ['tokens', '<!doctype html>', { credential: ended }, (rookery: Rookery) => rookery.me()],
    ['tokens', '{"ok":true}', { credential: ended }, (rookery: Rookery) => rookery.me()],
  ])('says so where something else is answered in the place of %s: %s', async (_, answer, options, call) => {
    const { rookery } = await play([[200, answer]], options);
    for (let n = 0; n < 2; n += 1) {
      const error = await call(rookery).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UnreachableError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^The answer .*: is this the address of the API\?$/),
      });
    }
    const [first, second] = service.ledger as [Received, Received]; // with the token that was there before
    expect(service.ledger).toHaveLength(2);
    if ('credential' in options) expect(second.body.toString()).toBe(first.body.toString());
  });
  test('throws what the service says, also where that is no JSON [S3]', async () => {
    const errors = [{ field: 'posts.0.date', message: 'no date', rule: 'date' }];
    const { rookery } = await play([
      [400, refusal(400, 'validation_failed', { errors }), { 'x-request-id': 'r1' }],
      [404, 'Not here'],
      [
        403,
        { jsonrpc: '2.0', id: 1, error: { code: -32003, message: 'no', data: refusal(403, 'insufficient_scope') } },
      ],
    ]);
    const first = await rookery.createPosts(body).catch((error: unknown) => error);
    expect(first).toBeInstanceOf(RookeryError);
    expect(first).toMatchObject({
      status: 400,
      code: 'validation_failed',
      message: 'No',
      faults: errors,
      requestId: 'r1',
    });
    await expect(rookery.me()).rejects.toMatchObject({
      status: 404,
      code: undefined,
      message: 'The service answered 404',
    });
    await expect(rookery.request('/mcp', { method: 'POST' })).rejects.toMatchObject({ code: 'insufficient_scope' });
  });
});

describe('tokens', () => {
  const tokens = { accessToken: 'old', refreshToken: 'r1', clientId: 'c' };
  const pair = { access_token: 'new', refresh_token: 'r2', expires_in: 3_600, token_type: 'bearer' };

  test('renew themselves once for all calls that were refused', async () => {
    const kept: unknown[] = [];
    const { rookery } = await play([[200, {}]], {
      credential: { ...tokens, onRefresh: (fresh) => void kept.push(fresh) },
    });
    service.answer = (response, { path, headers }) => {
      const isOld = path !== '/oauth/token' && headers.authorization === 'old';
      response.writeHead(isOld ? 401 : 200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(path === '/oauth/token' ? pair : isOld ? refusal(401, 'invalid_token') : { ok: true }),
      );
    };
    expect(await Promise.all([rookery.me(), rookery.me(), rookery.me()])).toEqual([
      { ok: true },
      { ok: true },
      { ok: true },
    ]);
    const exchanges = service.ledger.filter(({ path }) => path === '/oauth/token');
    expect(exchanges.map((one) => one.body.toString())).toEqual([
      'grant_type=refresh_token&refresh_token=r1&client_id=c',
    ]);
    expect(kept).toEqual([{ accessToken: 'new', refreshToken: 'r2', expiresAt: 1_000_000 + 3_600_000 }]);
  });
  test('renew themselves shortly before their end, so that nothing is refused', async () => {
    const { rookery } = await play(
      [
        [200, pair],
        [200, { ok: true }],
      ],
      {
        credential: { ...tokens, expiresAt: 1_000_000 + 29_000 },
      },
    );
    await rookery.me();
    expect(service.ledger.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/oauth/token', undefined],
      ['/public/v1/me', 'new'],
    ]);
  });
  test('end the call when nobody answers to their renewal, which is not repeated', async () => {
    service = await startReceiver({ answer: () => undefined });
    const credential = { ...tokens, expiresAt: 0 };
    const rookery = openRookery({ url: service.url, credential, timeoutMs: 30 });
    const failure = await rookery.me().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnreachableError);
    expect((failure as Error).message).toBe(`${service.url} cannot be reached: no answer in 30 ms`);
    expect(service.ledger.map(({ path }) => path)).toEqual(['/oauth/token']);
  }, 5_000);
  test.each([
    ['before a call', { ...tokens, expiresAt: 0 }, ['cut'], ['/oauth/token']],
    [
      'for a call that was refused',
      tokens,
      [[401, refusal(401, 'invalid_token')], 'cut'],
      ['/public/v1/me', '/oauth/token'],
    ],
  ] as const)(
    'end the call when their renewal breaks %s, which is not repeated',
    async (_, credential, steps, paths) => {
      const { rookery } = await play(steps as readonly Step[], { credential });
      await expect(rookery.me()).rejects.toThrow(UnreachableError);
      expect(service.ledger.map(({ path }) => path)).toEqual(paths);
    },
  );
  test('that are refused for good end the call', async () => {
    const { rookery } = await play(
      [
        [401, refusal(401, 'invalid_token')],
        [400, { error: 'invalid_grant', error_description: 'It was used' }],
      ],
      { credential: tokens },
    );
    await expect(rookery.me()).rejects.toMatchObject({ status: 400, message: 'It was used' });
    expect(service.ledger).toHaveLength(2);
  });
});

describe('an upload', () => {
  test('of a stream is sent as it comes, with a name that cannot break out of its header', async () => {
    const { rookery } = await play([[201, { id: 'f' }]]);
    async function* bytes() {
      yield Buffer.from('one ');
      yield Buffer.from('two');
    }
    expect(await rookery.upload(bytes(), { name: 'a"\r\nb.png', type: 'image/png' })).toEqual({ id: 'f' });
    const [{ headers, body: sent }] = service.ledger as [Received];
    expect([headers['transfer-encoding'], headers['content-type'], headers.authorization]).toEqual([
      'chunked',
      expect.stringMatching(/^multipart\/form-data; boundary=/),
      'key',
    ]);
    const form = await new Response(new Uint8Array(sent), {
      headers: { 'content-type': headers['content-type']! },
    }).formData();
    const file = form.get('file') as File;
    expect([file.type, await file.text()]).toEqual(['image/png', 'one two']);
    expect(sent.toString()).toContain('filename="a%22%0D%0Ab.png"');
  });
  test('of a stream is not repeated, one of bytes is, with its key', async () => {
    const { rookery } = await play(['cut']);
    const stream = new Blob(['x']).stream();
    await expect(rookery.upload(stream, { name: 'x' })).rejects.toThrow(UnreachableError);
    expect(service.ledger.length).toBeLessThanOrEqual(1);
    await service[Symbol.asyncDispose]();
    const { rookery: other } = await play(['cut', [201, { id: 'f' }]]);
    await other.upload(new Uint8Array([1]), { name: 'x' });
    expect(new Set(keysOf(service.ledger)).size).toBe(1);
    expect(service.ledger).toHaveLength(2);
  });
  test('whose source fails lets go of it and fails by its error', async () => {
    const { rookery } = await play([[201, {}]]);
    let closed = false;
    async function* broken() {
      try {
        yield Buffer.from('x');
        throw new Error('disk away');
      } finally {
        closed = true;
      }
    }
    await expect(rookery.upload(broken(), { name: 'x' })).rejects.toThrow('disk away');
    expect(closed).toBe(true);
  });
});

describe('waitFor', () => {
  const post = (state: string, detail: string | null, publishDate = new Date(1_000_000).toISOString()) =>
    [200, { id: 'p', state, detail, publishDate }] as Step;

  test('looks more and more seldom, tells each state once, and answers the end', async () => {
    const { rookery, slept } = await play([
      post('QUEUE', 'scheduled'),
      post('QUEUE', 'publishing'),
      post('QUEUE', 'publishing'),
      post('PUBLISHED', null),
    ]);
    const told: unknown[] = [];
    const end = await rookery.waitFor({ postId: 'p' }, { onChange: ({ state, detail }) => told.push(detail ?? state) });
    expect([end.state, told, slept]).toEqual([
      'PUBLISHED',
      ['scheduled', 'publishing', 'PUBLISHED'],
      [500, 750, 1_125],
    ]);
  });
  test('sleeps until the date of the post, five minutes at a time', async () => {
    const { rookery, slept } = await play([
      post('QUEUE', 'scheduled', new Date(1_000_000 + 400_000).toISOString()),
      post('QUEUE', 'scheduled', new Date(1_000_000 + 400_000).toISOString()),
      post('ERROR', null),
    ]);
    expect((await rookery.waitFor('p')).state).toBe('ERROR');
    expect(slept).toEqual([300_000, 100_000]);
  });
  test('gives up in time, with the post', async () => {
    const { rookery } = await play([post('QUEUE', 'paused')]);
    await expect(rookery.waitFor('p', { timeoutMs: 2_000 })).rejects.toMatchObject({
      name: 'WaitTimeoutError',
      message: 'The post is still paused',
      post: { id: 'p' },
    });
  });
});

describe('a list', () => {
  test('is read page by page, no further than its reader goes', async () => {
    const { rookery } = await play([
      [200, { posts: [{ id: 'a' }, { id: 'b' }], nextCursor: 'n' }],
      [200, { posts: [{ id: 'c' }], nextCursor: null }],
    ]);
    const ids: string[] = [];
    for await (const { id } of rookery.posts({ startDate: '2026-01-01' })) ids.push(id);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(service.ledger.map(({ path }) => path)).toEqual([
      '/public/v1/posts?limit=100&startDate=2026-01-01',
      '/public/v1/posts?limit=100&startDate=2026-01-01&cursor=n',
    ]);
  });
});
