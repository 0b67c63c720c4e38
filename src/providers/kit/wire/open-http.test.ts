import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { z } from 'zod';
import { type Receiver, startReceiver } from '../../../../test/support/wire/receiver.ts';
import { failureOf } from '../../../../test/support/peers/fake-network.ts';
import { startSlowReceiver } from '../../../../test/support/wire/slow-receiver.ts';
import { systemClock } from '../../../platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../platform/outbound/index.ts';
import type { Auth, Call } from './http.ts';
import { type HttpOptions, openHttp } from './open-http.ts';

let receiver: Receiver;
let outbound: Outbound;
beforeAll(async () => {
  outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await outbound[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
beforeEach(() => void receiver.ledger.splice(0));

const answers = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => {
  receiver.answer = (response) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
};
const open = (manifest: Partial<HttpOptions['manifest']> = {}, options: Partial<Omit<HttpOptions, 'manifest'>> = {}) =>
  openHttp({
    manifest: { title: 'Demo', api: receiver.url, ...manifest },
    outbound,
    clock: systemClock,
    values: {},
    secrets: [],
    ...options,
  });
const anything = z.unknown();
const piece = Buffer.alloc(64 * 1024);
/** A file of so many pieces; `seen.read`: how many of them were read. */
function fileOf(pieces: number) {
  const seen = { read: 0 };
  const bytes = {
    contentType: 'video/mp4',
    size: pieces * piece.length,
    async *open() {
      for (; seen.read < pieces; seen.read += 1) yield piece;
    },
  };
  return { seen, bytes };
}
/** The same way out, for which a second of silence is a hundredth of one. */
const hasty = (): Pick<Outbound, 'fetch'> => ({
  fetch: (url, { upload, ...request } = {}) =>
    outbound.fetch(url, {
      ...request,
      ...(upload && { upload: { ...upload, silenceMs: upload.silenceMs / 100 } }),
    }),
});

describe('a refusal', () => {
  const errorOf = z.union([
    z
      .object({ status: z.literal(400), error: z.object({ code: z.literal(190) }) })
      .transform(() => 'reauthorize' as const),
    z.object({ status: z.literal(409), body: z.literal('again') }).transform(() => 'unavailable' as const),
  ]);
  test.each([
    [400, { error: { code: 190 } }, 'reauthorize'],
    [403, { error: { code: 190 } }, 'rejected'],
    [409, 'again', 'unavailable'],
    [409, { status: 400, error: { code: 190 } }, 'rejected'],
  ])('is read with its status beside the body: %i %j', async (status, body, failure) => {
    answers(status, body);
    await expect(open({ errorOf }).get('/', anything)).rejects.toMatchObject({ failure });
  });

  test('tells the words of a nested body, without the secrets in them', async () => {
    answers(400, { error: { message: 'The token abc-def is no good' } });
    await expect(open({}, { secrets: ['abc-def'] }).get('/', anything)).rejects.toMatchObject({
      message: 'Demo answered 400: The token *** is no good',
    });
  });

  test.each([
    [429, { retry_after: 1.5 }, {}, 1_500],
    [429, {}, { 'x-ratelimit-reset-after': '3' }, 3_000],
    [503, {}, { 'retry-after': '4' }, 4_000],
    [503, {}, { 'ratelimit-reset': '900' }, undefined],
    [400, {}, { 'retry-after': '4' }, undefined],
  ])('with status %i, the body %j and the headers %j tells how long to wait', async (status, body, headers, wait) => {
    answers(status, body, headers);
    await expect(open().get('/', anything)).rejects.toMatchObject({ retryAfterMs: wait });
  });

  test('for a rate has a wait whatever its status', async () => {
    const usage = { 'x-business-use-case-usage': '{"1":[{"estimated_time_to_regain_access":2}]}' };
    const limited = z.object({ error: z.object({ code: z.literal(32) }) }).transform(() => 'rate_limited' as const);
    for (const [status, field] of [
      [400, 'errorOf'],
      [200, 'errorInside'],
    ] as const) {
      answers(status, { error: { code: 32 } }, usage);
      await expect(open({ [field]: limited }).get('/', anything)).rejects.toMatchObject({
        failure: 'rate_limited',
        retryAfterMs: 120_000,
      });
    }
  });

  test('says whether it is of content that is there already, or a fault of the server', async () => {
    const duplicateOf = z.object({ error: z.object({ code: z.literal(506) }) });
    const http = open({ duplicateOf, errors: { 501: 'unsupported' } });
    const reasonOf = async (status: number, code: number, creates?: true) => {
      answers(status, { error: { code } });
      const { failure, reason } = await failureOf(http.post('/x', anything, { json: {}, ...(creates && { creates }) }));
      return [failure, reason];
    };
    expect([
      await reasonOf(400, 506),
      await reasonOf(400, 1),
      await reasonOf(429, 506),
      await reasonOf(503, 506),
      await reasonOf(500, 1, true),
      await reasonOf(501, 1),
      await reasonOf(408, 1),
    ]).toEqual([
      ['rejected', 'duplicate'],
      ['rejected', undefined],
      ['rate_limited', undefined],
      ['unavailable', 'server'],
      ['lost', 'server'],
      ['unsupported', undefined],
      ['unavailable', undefined],
    ]);
  });

  test('inside a 200 that leaves open what was done is of no matter to a read', async () => {
    const errorInside = z.object({ error: z.literal('internal') }).transform(() => 'lost' as const);
    answers(200, { error: 'internal' });
    await expect(open({ errorInside }).get('/', anything)).rejects.toMatchObject({
      failure: 'unavailable',
      message: expect.stringContaining('refused: internal'),
    });
    const made = open({ errorInside }).post('/', anything, { creates: true });
    await expect(made).rejects.toMatchObject({ failure: 'lost' });
  });
});

describe('credentials', () => {
  const demo = {
    values: { key: 'the-key', user: 'ann' },
    token: 'the-token',
    app: { clientId: 'app-1', botToken: 'bot-1' },
  };
  const sent = () => {
    const { path, headers, body } = receiver.ledger.at(-1)!;
    return { path, authorization: headers.authorization, ...(body.length > 0 && { body: body.toString() }) };
  };
  beforeEach(() => answers(200));

  test.each<[string, Auth | readonly Auth[], Call, ReturnType<typeof sent>]>([
    ['the token as Bearer', { in: 'token' }, {}, { path: '/', authorization: 'Bearer the-token' }],
    [
      'the token bare',
      { in: 'header', name: 'authorization', token: true },
      {},
      { path: '/', authorization: 'the-token' },
    ],
    [
      "the app's bot with a prefix of its own",
      { in: 'header', name: 'authorization', prefix: 'Bot ', app: 'botToken' },
      {},
      { path: '/', authorization: 'Bot bot-1' },
    ],
    [
      'a login',
      { in: 'basic', user: { field: 'user' }, password: { field: 'key' } },
      {},
      { path: '/', authorization: `Basic ${btoa('ann:the-key')}` },
    ],
    [
      'a login with a constant name',
      { in: 'basic', user: { text: 'api' }, password: { token: true } },
      {},
      { path: '/', authorization: `Basic ${btoa('api:the-token')}` },
    ],
    [
      'the token in the query',
      { in: 'query', name: 'access_token', token: true },
      { query: { v: '5' } },
      { path: '/?v=5&access_token=the-token', authorization: undefined },
    ],
    [
      'the token in the form',
      { in: 'form', name: 'access_token', token: true },
      { form: { message: 'x' } },
      { path: '/', authorization: undefined, body: 'access_token=the-token&message=x' },
    ],
    [
      'the token in the query of a call without a form',
      { in: 'form', name: 'access_token', token: true },
      { json: {} },
      { path: '/?access_token=the-token', authorization: undefined, body: '{}' },
    ],
    [
      'several at once, and none without a value',
      [
        { in: 'token' },
        { in: 'query', name: 'client', app: 'clientId' },
        { in: 'query', name: 'secret', app: 'clientSecret' },
        { in: 'query', name: 'other', field: 'absent' },
      ],
      {},
      { path: '/?client=app-1', authorization: 'Bearer the-token' },
    ],
  ])('are sent: %s', async (_, auth, call, expected) => {
    await open({ auth }, demo).post('/', anything, call);
    expect(sent()).toEqual(expected);
  });

  test('may name another user agent', async () => {
    const named = { in: 'header', name: 'user-agent', text: 'DemoBot (https://demo.example, 1)' } as const;
    await open().get('/', anything);
    await open({ auth: named }).get('/', anything);
    expect(receiver.ledger.map(({ headers }) => headers['user-agent'])).toEqual(['rookery', named.text]);
  });

  test('are a field of a form with files', async () => {
    const file = {
      name: 'a.txt',
      contentType: 'text/plain',
      size: 2,
      open: async function* () {
        yield Buffer.from('hi');
      },
    };
    await open({ auth: { in: 'form', name: 'access_token', token: true } }, demo).post('/', anything, {
      multipart: { file },
    });
    const { body, headers } = receiver.ledger[0]!;
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': headers['content-type']! },
    }).formData();
    expect([...form.keys()]).toEqual(['access_token', 'file']);
    expect(form.get('access_token')).toBe('the-token');
  });

  test('stay behind for every origin but their own', async () => {
    await using elsewhere = await startReceiver({ answer: (response) => void response.writeHead(200).end('{}') });
    const auth: Auth[] = [
      { in: 'token' },
      { in: 'header', host: 'upload', name: 'authorization', prefix: 'OAuth ', token: true },
    ];
    const http = open({ auth, hosts: { upload: elsewhere.url } }, demo);
    await http.get('/', anything);
    await http.get(`${elsewhere.url}/x`, anything);
    expect(sent().authorization).toBe('Bearer the-token');
    expect(elsewhere.ledger[0]!.headers.authorization).toBe('OAuth the-token');
    await open({ auth: { in: 'token' } }, demo).get(`${elsewhere.url}/x`, anything);
    expect(elsewhere.ledger[1]!.headers.authorization).toBeUndefined();
  });

  test('are renewed once after a refusal, wherever the token is', async () => {
    receiver.answer = (response, { path }) =>
      void response.writeHead(path === '/?access_token=fresh' ? 200 : 401).end('{}');
    const auth: Auth = { in: 'query', name: 'access_token', token: true };
    const renew = async () => 'fresh';
    await open({ auth }, { ...demo, renew }).get('/', anything);
    expect(receiver.ledger.map(({ path }) => path)).toEqual(['/?access_token=the-token', '/?access_token=fresh']);
    await expect(
      open({ auth: { in: 'header', name: 'key', field: 'key' } }, { ...demo, renew }).get('/', anything),
    ).rejects.toMatchObject({ failure: 'reauthorize' });
    expect(receiver.ledger).toHaveLength(3);
  });

  test('never stand in a failure, a login neither as it is sent', async () => {
    const auth: Auth = { in: 'basic', user: { text: 'api' }, password: { field: 'key' } };
    answers(400, { error: { message: `${btoa('api:the-key')} and bot-1 and the-token` } });
    await expect(open({ auth }, { ...demo, secrets: ['the-key'] }).get('/', anything)).rejects.toMatchObject({
      message: 'Demo answered 400: *** and *** and ***',
    });
  });
});

describe('a call', () => {
  const query = () => receiver.ledger.at(-1)!.path;
  test('repeats a name of the query and of the form for each of its values', async () => {
    answers(200);
    await open().post('/?fields=id', anything, {
      query: { uris: ['at://1', 'at://2'], none: undefined, empty: [] },
      form: { tag: ['a', 'b'], text: 'x y' },
    });
    expect(query()).toBe('/?fields=id&uris=at%3A%2F%2F1&uris=at%3A%2F%2F2');
    expect(receiver.ledger[0]!.body.toString()).toBe('tag=a&tag=b&text=x+y');
  });

  test('sends a raw part of the query as it stands', async () => {
    answers(200);
    const rawQuery = 'ids=List(urn%3Ali%3Aperson%3A1,urn%3Ali%3Aperson%3A2)';
    await open().get('/', anything, { rawQuery });
    await open().get('/', anything, { rawQuery, query: { q: 'a b' } });
    expect(receiver.ledger.map(({ path }) => path)).toEqual([`/?${rawQuery}`, `/?q=a+b&${rawQuery}`]);
  });

  test.each(['/posts/../me', '/posts/..', '/posts/.', '/posts/%2e%2E/me', '/posts/..\\me', '/posts/.\t./me'])(
    'is not sent on a path that leads elsewhere: %j',
    async (path) => {
      await expect(open().get(path, anything)).rejects.toMatchObject({ failure: 'rejected' });
      expect(receiver.ledger).toEqual([]);
    },
  );
  test('may have dots in its path and its query', async () => {
    answers(200);
    await open().get('/posts/a..b/.c?of=/../', anything);
    expect(receiver.ledger.map(({ path }) => path)).toEqual(['/posts/a..b/.c?of=/../']);
  });

  test('is sent with PATCH', async () => {
    answers(200, { ok: 1 });
    expect(await open().patch('/x', z.object({ ok: z.literal(1) }), { json: { a: 1 } })).toEqual({ ok: 1 });
    expect(receiver.ledger[0]).toMatchObject({ method: 'PATCH', path: '/x' });
  });

  test('reads the status beside the body', async () => {
    const Media = z.object({ id: z.string(), status: z.int() }).transform(({ id, status }) => [id, status === 202]);
    for (const status of [200, 202]) {
      answers(status, { id: 'm' });
      expect(await open().post('/', Media, { replyStatus: true })).toEqual(['m', status === 202]);
    }
  });

  test('takes a redirect as an answer only where it asks for it', async () => {
    answers(308, '', { range: 'bytes=0-9' });
    const Progress = z.object({ status: z.literal(308), headers: z.object({ range: z.string() }) });
    const call = { replyStatus: true, replyHeaders: ['range'] } as const;
    expect(await open().put('/', Progress, { ...call, accepts: [308] })).toEqual({
      status: 308,
      headers: { range: 'bytes=0-9' },
    });
    await expect(open().put('/', Progress, call)).rejects.toMatchObject({ failure: 'rejected' });
  });

  test('has a time of its own', async () => {
    receiver.answer = () => undefined; // it never answers
    await expect(open({ timeoutMs: 600_000 }).post('/', anything, { timeoutMs: 50 })).rejects.toMatchObject({
      failure: 'unavailable',
    });
  });

  test('has more time for a file, by its length, while the file is being taken', async () => {
    await using slow = await startSlowReceiver(() => 4);
    const pieces = 512;
    const calls: Call[] = [
      { bytes: fileOf(pieces).bytes },
      { multipart: { file: { ...fileOf(pieces).bytes, name: 'a.mp4' } } },
    ];
    for (const call of calls) {
      const taken = await open({ api: slow.url, timeoutMs: 500 }).post('/', z.number(), call);
      expect(taken).toBeGreaterThanOrEqual(pieces * piece.length);
    }
  });

  test('ends when nothing of its file is taken any more', async () => {
    await using silent = await startSlowReceiver((received) => (received > 1_000_000 ? 'never' : 0));
    const { bytes, seen } = fileOf(1_024);
    const begun = performance.now();
    const http = open({ api: silent.url, timeoutMs: 600_000 }, { outbound: hasty() });
    const cut = http.post('/', anything, { bytes, creates: true });
    await expect(cut).rejects.toMatchObject({ failure: 'lost' });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(seen.read).toBeLessThan(1_024);
  });

  test('reads its body while it is sent, so that little of it is ever in memory', async () => {
    const pieces = 4_096; // 256 MiB
    const { bytes, seen } = fileOf(pieces);
    const sockets: Socket[] = [];
    const deaf = createServer({ pauseOnConnect: true }, (socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    const api = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`;
    const deadEnd = open({ api }, { outbound: hasty() }).put('/', anything, { bytes, timeoutMs: 1_000 });
    await expect(deadEnd).rejects.toMatchObject({ failure: 'unavailable' });
    for (const socket of sockets) socket.destroy();
    deaf.close();
    expect(sockets).toHaveLength(1);
    expect(seen.read).toBeGreaterThan(0);
    expect(seen.read).toBeLessThan(pieces / 2);
  });
});
