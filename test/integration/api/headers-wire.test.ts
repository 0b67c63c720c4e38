import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { routesOf } from '../../../api/http/route.ts';
import { startApi } from '../../../api/main.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

const route = routesOf();

// What arrives at the socket, judged by its bytes: requests that no client sends, and peers that take their time.

const SECURITY = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
};
const production = {
  NODE_ENV: 'production',
  FRONTEND_URL: 'https://app.example.com',
  NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com',
  BACKEND_INTERNAL_URL: 'https://api.example.com',
  DATABASE_URL: 'postgres://127.0.0.1/x',
  REDIS_URL: 'redis://127.0.0.1',
};
/** What `/probe/endless` reads from, like an open file. */
const sources: Readable[] = [];
const probes = [
  route({
    method: 'post',
    path: '/probe',
    summary: 'A probe',
    auth: ['none'],
    body: z.strictObject({ text: z.string().optional() }),
    answer: z.unknown(),
    handle: async ({ body }) => body,
    present: (body) => body,
  }),
  route({
    method: 'get',
    path: '/probe/text',
    summary: 'A probe',
    auth: ['none'],
    output: 'text',
    answer: z.string(),
    handle: async () => 'plain',
    present: (text) => text,
  }),
  route({
    method: 'post',
    path: '/probe/stream',
    summary: 'A probe',
    auth: ['none'],
    input: 'stream',
    answer: z.unknown(),
    async handle(call) {
      let bytes = 0;
      for await (const chunk of call.request.stream) bytes += (chunk as Buffer).length;
      return bytes;
    },
    present: (bytes) => bytes,
  }),
  route({
    method: 'get',
    path: '/probe/endless',
    summary: 'A probe',
    auth: ['none'],
    output: 'bytes',
    answer: z.unknown(),
    async handle() {
      const body = new Readable({ read: () => void body.push(Buffer.alloc(65_536)) });
      sources.push(body);
      return body;
    },
    present: (body) => body,
  }),
  route({
    method: 'get',
    path: '/probe/fails',
    summary: 'A probe',
    auth: ['none'],
    answer: z.unknown(),
    handle: () => Promise.reject(new Error('x')),
    present: () => 1,
  }),
];

const db = await testDatabase();
let app: TestApp;
let address: string;
/** Of little patience: with heads, and with bodies. Apart, so that no head is late where a body is meant to be. */
let quick: Record<'heads' | 'bodies' | 'readers' | 'few', Awaited<ReturnType<typeof startApi>>>;
beforeAll(async () => {
  app = await testApp({ sql: db.sql, routes: [...routes, ...probes], env: production });
  const quickly = (patience: object, bodyMs?: number) =>
    startApi(app.context, { routes: probes, patience, onAnswer: () => {}, ...(bodyMs && { bodyMs }) });
  quick = {
    heads: await quickly({ headersMs: 300, checkMs: 50 }),
    bodies: await quickly({ restMs: 200 }, 300),
    readers: await quickly({ readerMs: 300 }),
    few: await startApi(app.context, { routes: probes, connections: 3, onAnswer: () => {} }),
  };
  address = app.address;
});
afterAll(async () => {
  for (const one of Object.values(quick)) await one[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

interface Heard {
  text: string;
  /** Of each answer, in order. */
  answers: { status: number; headers: Record<string, string>; body: string }[];
  /** Whether the server ended the connection. */
  ended: boolean;
}
/** Sends pieces as they are, and hears until the server ends the connection, as it does in all that is asked here. */
function wire(pieces: readonly string[], { at = address, pauseMs = 0 } = {}): Promise<Heard> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(at);
    const socket = connect(Number(port), hostname);
    let text = '';
    const done = (ended: boolean) => {
      clearTimeout(never);
      socket.destroy();
      resolve({ text, answers: answersIn(text), ended });
    };
    const never = setTimeout(() => done(false), 30_000);
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => done(true));
    socket.on('close', () => done(true));
    void (async () => {
      for (const piece of pieces) {
        if (!socket.writable) return;
        socket.write(piece, 'latin1');
        if (pauseMs > 0) await new Promise((go) => setTimeout(go, pauseMs));
      }
    })();
  });
}
/** A connection that was answered once and stays open. */
const hold = (at: string, asked: string) =>
  new Promise<Socket>((resolve, reject) => {
    const { hostname, port } = new URL(at);
    const socket = connect(Number(port), hostname);
    socket.once('error', reject).once('data', () => resolve(socket));
    socket.write(asked);
  });
function answersIn(text: string): Heard['answers'] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((part) => part.startsWith('HTTP/1.1'))
    .map((part) => {
      const [head = '', ...body] = part.split('\r\n\r\n');
      const [line = '', ...lines] = head.split('\r\n');
      const headers = Object.fromEntries(
        lines.map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 1).trim()]),
      );
      return { status: Number(line.split(' ')[1]), headers, body: body.join('\r\n\r\n') };
    });
}
const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
    const sent = request(address + path, { method, headers }, (answer) => {
      answer.resume().on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers }));
    });
    sent.on('error', reject).end(body);
  });
const post = (head: string, body = '') =>
  `POST /probe HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${head}\r\n${body}`;

describe('security headers in production', () => {
  test.each([
    ['GET', '/health/live', 200, {}],
    ['GET', '/probe/text', 200, {}],
    ['HEAD', '/health/live', 200, {}],
    ['OPTIONS', '/user/self', 200, { origin: 'https://app.example.com', 'access-control-request-method': 'GET' }],
    ['OPTIONS', '/user/self', 200, { origin: 'https://evil.example', 'access-control-request-method': 'GET' }],
    ['GET', '/nothing', 404, {}],
    ['GET', '/uploads/none.png', 404, {}],
    ['GET', '/%', 404, {}],
    ['GET', '/user/self', 401, {}],
    ['GET', '/public/v1/is-connected', 401, { authorization: 'wrong' }],
    ['PATCH', '/health/live', 405, {}],
    ['POST', '/probe', 400, { 'content-type': 'application/json' }],
    ['POST', '/probe', 415, { 'content-type': 'text/plain' }],
    ['GET', '/probe/fails', 500, {}],
  ] as [string, string, number, Record<string, string>][])(
    '%s %s, answered %i [HD1, HD2, HD3, HD4, HD5, HD6]',
    async (method, path, status, headers) => {
      const answer = await ask(method, path, headers, method === 'POST' ? '{' : undefined);
      expect([answer.status, answer.headers]).toEqual([status, expect.objectContaining(SECURITY)]);
      expect(answer.headers).not.toHaveProperty('x-powered-by');
      expect(answer.headers).not.toHaveProperty('server');
    },
  );

  test('a refusal of the parser and every other error body carry the security headers, too [HD1, HD2, HD3, HD4, HD5, HD6, S3]', async () => {
    const { answers } = await wire(['NONSENSE\r\n\r\n']);
    expect(answers).toEqual([
      { status: 400, headers: expect.objectContaining({ ...SECURITY, connection: 'close' }), body: expect.any(String) },
    ]);
    expect(JSON.parse(answers[0]!.body)).toEqual({
      statusCode: 400,
      error: 'Bad Request',
      message: 'The request is not valid HTTP',
      msg: 'The request is not valid HTTP',
      code: 'invalid_request',
    });
    expect(answers[0]!.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
  });
});

describe('malformed HTTP', () => {
  const whole = '{"text":"a"}';
  test.each([
    ['two different lengths', post('Content-Length: 12\r\nContent-Length: 13\r\n', whole)],
    ['two equal lengths in one line', post('Content-Length: 12, 12\r\n', whole)],
    ['a length beside chunks', post('Content-Length: 12\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
    ['chunks under a false name', post('Transfer-Encoding: xchunked\r\n', whole)],
    ['chunks not last', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n')],
    ['chunks twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
    ['a length that is none', post('Content-Length: +12\r\n', whole)],
    ['a negative length', post('Content-Length: -1\r\n', whole)],
    ['a length in hexadecimal', post('Content-Length: 0xc\r\n', whole)],
    ['a chunk size that is none', post('Transfer-Encoding: chunked\r\n', '0xc\r\n{"text":"a"}\r\n0\r\n\r\n')],
    ['a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')],
    ['a folded header', post('Content-Length: 12\r\n X: y\r\n', whole)],
    ['a bare line feed in a header', post('X-A: b\nContent-Length: 12\r\n', whole)],
    ['NUL in a header', post('X-A: b\0c\r\nContent-Length: 12\r\n', whole)],
    ['no version', 'GET /health/live\r\n\r\n'],
    ['an unknown version', 'GET /health/live HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['no host', 'GET /health/live HTTP/1.1\r\n\r\n'],
    ['an unknown method', 'BREW /health/live HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['TLS on the plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
  ])('%s is refused, and the rest of the connection is not taken for another request', async (_, bytes) => {
    const { answers, ended } = await wire([`${bytes}GET /health/live HTTP/1.1\r\nHost: smuggled\r\n\r\n`]);
    expect([answers, ended]).toEqual([
      [
        {
          status: 400,
          headers: expect.objectContaining(SECURITY),
          body: expect.stringContaining('"code":"invalid_request"'),
        },
      ],
      true,
    ]);
  });

  test('an endless head is too large', async () => {
    const { answers, ended } = await wire([
      `GET /health/live HTTP/1.1\r\nHost: x\r\n${`X-${'a'.repeat(50)}: ${'b'.repeat(1_000)}\r\n`.repeat(40)}\r\n`,
    ]);
    expect([answers.map(({ status, body }) => [status, JSON.parse(body).code]), ended]).toEqual([
      [[413, 'too_large']],
      true,
    ]);
  });
  test('an unknown expectation is not met, and the request is answered', async () => {
    const { answers } = await wire([
      'GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n',
    ]);
    expect(answers).toEqual([{ status: 200, headers: expect.objectContaining(SECURITY), body: expect.any(String) }]);
  });
  test('a request to change the protocol is ignored', async () => {
    const { answers } = await wire([
      'GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n',
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
  test.each([
    'X-Request-Id: a\r\n b: c',
    'X-Request-Id: %0d%0aSet-Cookie: a=b',
    'Origin: https://x\u0085y',
    'Accept: \u2028',
  ])('%j is echoed in no header', async (line) => {
    const { text } = await wire([
      `GET /nothing%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: x\r\n${line}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(text).not.toMatch(/^(set-cookie|b):/im);
  });
});

describe('slow peers', () => {
  /** Byte by byte until the server has enough of it. */
  const drip = (kind: keyof typeof quick, begun: string, drop: (n: number) => string) =>
    wire([begun, ...Array.from({ length: 300 }, (_, n) => drop(n))], { at: quick[kind].address, pauseMs: 100 });

  test('a slow head is cut off', async () => {
    const { answers, ended } = await drip('heads', 'GET /probe/text HTTP/1.1\r\n', (n) => `X-${n}: y\r\n`);
    expect([answers.map(({ status }) => status), ended]).toEqual([[400], true]);
  });
  test('a silent connection is ended', async () => {
    expect((await wire([], { at: quick.heads.address })).ended).toBe(true);
  });
  test('a slow body is refused, and the connection ended', async () => {
    const { answers, ended } = await drip('bodies', post('Content-Length: 1000\r\n'), () => ' ');
    expect([answers.map(({ status, body }) => [status, JSON.parse(body).message]), ended]).toEqual([
      [[400, 'The body did not arrive within 0.3 s: send it again']],
      true,
    ]);
  });
  test('a slow stream is allowed for longer than a body', async () => {
    const head = 'POST /probe/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nConnection: close\r\n\r\n';
    const { answers } = await wire([head, ...'0123456789'], { at: quick.bodies.address, pauseMs: 100 });
    expect(answers.map(({ status, body }) => [status, body])).toEqual([[200, '10']]);
  });
  test('a reader that accepts nothing is disconnected, and the source of its answer is closed', async () => {
    sources.length = 0;
    const { hostname, port } = new URL(quick.readers.address);
    const socket = connect(Number(port), hostname).pause();
    socket.on('error', () => {});
    socket.write('GET /probe/endless HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await eventually('the source is closed', async () => sources[0]?.destroyed === true);
    socket.destroy();
  });
  test('a slow reader receives the whole answer', async () => {
    sources.length = 0;
    const { hostname, port } = new URL(quick.readers.address);
    const socket = connect(Number(port), hostname);
    let taken = 0;
    socket.on('error', () => {}).on('data', (chunk) => (taken += chunk.length));
    socket.write('GET /probe/endless HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await eventually('much was taken', async () => taken > 10_000_000);
    expect(sources[0]!.destroyed).toBe(false);
    socket.destroy();
    await eventually('the source is closed with its reader', async () => sources[0]!.destroyed);
  });
  test('a connection beyond the limit is ended at once, and one that ends makes room', async () => {
    const at = quick.few.address;
    const asked = 'GET /probe/text HTTP/1.1\r\nHost: localhost\r\n';
    const held = await Promise.all(Array.from({ length: 3 }, () => hold(at, `${asked}\r\n`)));
    expect(await wire([`${asked}\r\n`], { at })).toMatchObject({ answers: [], ended: true });
    held[0]!.destroy();
    await eventually(
      'there is room',
      async () => (await wire([`${asked}Connection: close\r\n\r\n`], { at })).answers[0]?.status === 200,
    );
    for (const socket of held) socket.destroy();
  });
  test('an unexpected body does not hold the connection', async () => {
    const { answers, ended } = await drip(
      'bodies',
      'POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n',
      () => ' ',
    );
    expect([answers.map(({ status }) => status), ended]).toEqual([[404], true]);
  });
  test('fifty slow connections at once leave the service to the others', async () => {
    const drips = Array.from({ length: 50 }, () => drip('bodies', post('Content-Length: 1000\r\n'), () => ' '));
    const one = { at: quick.bodies.address };
    for (let n = 0; n < 20; n += 1)
      expect(
        (await wire(['GET /probe/text HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'], one)).answers[0]?.status,
      ).toBe(200);
    expect((await Promise.all(drips)).every(({ ended }) => ended)).toBe(true);
  });
});

describe('extreme bodies', () => {
  const send = (body: string) => ask('POST', '/probe', { 'content-type': 'application/json' }, body);
  test.each([
    ['arrays 10,000 deep', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['objects 10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['arrays a million deep', `${'['.repeat(990_000)}${']'.repeat(990_000)}`],
    ['brackets that never close', '['.repeat(1_000_000)],
    ['a number without end', '9'.repeat(1_000_000)],
    [
      'a hundred thousand unknown keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 1]))),
    ],
    [
      'two hundred thousand texts that cannot be stored',
      JSON.stringify({ text: Array.from({ length: 200_000 }, () => '\0') }),
    ],
    ['the keys that objects inherit', '{"__proto__":{"isSuperAdmin":true},"constructor":{"prototype":{"x":1}}}'],
    ['one key very often', `{${'"text":"a",'.repeat(100_000)}"text":7}`],
  ])('the answer to %s is 400 and short [S268]', async (_, body) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    expect(Number(answer.headers['content-length'])).toBeLessThan(50_000);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
  test('the last of equal keys counts, whatever the others are [S268]', async () => {
    expect((await send(`{${'"text":7,'.repeat(1_000)}"text":"a"}`)).status).toBe(200);
  });
  test('a body of two megabytes and a byte is 413', async () => {
    expect((await send(`{"text":"${'a'.repeat(2_000_001)}"}`)).status).toBe(413);
  });
});
