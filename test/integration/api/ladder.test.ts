import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { type AnyRoute, routesOf } from '../../../api/http/route.ts';
import { routes as allRoutes } from '../../../api/resources/routes.gen.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { AppError, limitExceeded, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { BOUNDS } from '../../../src/publishing/posts/dispatch/lateness.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { openPublishing } from '../../support/worlds/publishing.ts';
import { startRedis } from '../../support/wire/services.ts';

const route = routesOf();

const redisUrl = process.env['TEST_REDIS_URL'] || undefined; // oxlint-disable-line node/no-process-env -- given by the set-up of the run
const seen: unknown[] = [];
let refusal: (() => unknown) | undefined;
let gate: Promise<void> | undefined;

const echo = (more: Partial<AnyRoute> & Pick<AnyRoute, 'method' | 'path' | 'auth'>): AnyRoute =>
  route({
    summary: 'A probe',
    answer: z.unknown(),
    async handle({ body, query, params, request }) {
      seen.push({ body, query, params });
      await gate;
      if (refusal) throw refusal();
      return { body: body ?? null, query: query ?? null, params, ip: request.ip };
    },
    present: (result: unknown) => result,
    ...more,
  });
const Note = z.strictObject({
  text: z.string().min(1),
  count: z.int().optional(),
  inner: z.strictObject({ a: z.string() }).optional(),
  open: z.record(z.string(), z.unknown()).optional(),
});
const probes: AnyRoute[] = [
  echo({
    method: 'get',
    path: '/probe',
    auth: ['none'],
    query: z.strictObject({ page: z.coerce.number().int().optional() }),
  }),
  echo({ method: 'post', path: '/probe', auth: ['none'], body: Note }),
  echo({ method: 'delete', path: '/probe/:id', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/:id', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/fixed', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/by/:name', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/limited', auth: ['none'], limit: '2/minute' }),
  echo({ method: 'get', path: '/probe/limited-too', auth: ['session'], limit: '2/minute' }),
  echo({
    method: 'post',
    path: '/probe/order',
    auth: ['session'],
    limit: '3/minute',
    permission: 'billing:manage',
    body: Note,
    idempotent: true,
  }),
  echo({
    method: 'post',
    path: '/probe/created',
    auth: ['session', 'api-key'],
    body: Note,
    creates: true,
    idempotent: true,
  }),
  echo({ method: 'post', path: '/public/v1/probe', auth: ['api-key'], body: Note, idempotent: true }),
  echo({ method: 'put', path: '/public/v1/probe', auth: ['api-key'], body: Note }),
  echo({ method: 'get', path: '/public/v1/both', auth: ['api-key', 'session'] }),
  echo({ method: 'get', path: '/probe/admin', auth: ['super-admin'] }),
  echo({
    method: 'get',
    path: '/probe/bytes',
    auth: ['none'],
    output: 'bytes',
    present: () => Readable.from([Buffer.from('ab'), Buffer.from('cd')]),
  }),
  {
    ...echo({
      method: 'get',
      path: '/probe/header',
      auth: ['none'],
      query: z.strictObject({ name: z.string(), value: z.string() }),
    }),
    async handle({ query, reply }) {
      reply.header(query.name, query.value);
    },
    present: () => 1,
  },
  echo({ method: 'post', path: '/probe/small', auth: ['none'], body: Note, bodyLimit: 100 }),
  routesOf(
    'clock',
    'health',
  )({
    method: 'get',
    path: '/probe/rooms',
    summary: 'A probe',
    auth: ['none'],
    answer: z.array(z.string()),
    handle: async ({ rooms }) => Object.keys(rooms),
    present: (names) => names,
  }),
];

/** What waits does so for longer: a machine that is slow is no outage. */
const patient = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(10 * ms, signal) };

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let client: Client;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, routes: [...allRoutes, ...probes], clock: patient });
  await app.signUp(); // the first user is super-admin: not the one we ask with
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
afterEach(() => {
  refusal = undefined;
  gate = undefined;
  seen.length = 0;
});
beforeAll(() => {
  client = app.client();
});

/** A request as bytes on the wire, for what a proper client refuses to send. */
const raw = (text: string) =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(app.address);
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = '';
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => (answer += chunk))
      .on('end', () => resolve(answer))
      .on('error', reject);
  });

describe('paths', () => {
  test.each(['/probe', '/probe/', '/api/probe', '/api/probe/', '/probe?page=1', '/api/probe/?page=1'])(
    '%s is the same route [S1, GN1]',
    async (path) => {
      expect((await client.get(path)).status).toBe(200);
    },
  );
  test.each(['/Probe', '/PROBE', '/API/probe', '/api/api/probe', '//probe', '/probe//', '/nothing'])(
    '%s is no route [S1]',
    async (path) => {
      const { status, body } = await client.get(path);
      expect([status, body.code, body.message]).toEqual([
        404,
        'not_found',
        `There is no route GET ${path}; /openapi.json lists those there are`,
      ]);
    },
  );
  test('an unknown path is named without its query and without parts that are no route', async () => {
    const wire = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const { hostname, port } = new URL(app.address);
        httpRequest({ hostname, port, path, agent: false }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () => resolve((JSON.parse(text) as { message: string }).message));
        })
          .on('error', reject)
          .end();
      });
    const none = (path: string) => `There is no route GET ${path}; /openapi.json lists those there are`;
    expect(await wire('/no<b>"x"?token=hunter2')).toBe(none('/…'));
    expect(await wire('/%00%0a%zz')).toBe(none('/…'));
    expect(await wire(`/${'x'.repeat(5_000)}`)).toBe(none('/…'));
    expect(await wire(`/orgs/2f1c9a/members${'/x'.repeat(1_000)}`)).toBe(none('/orgs/…/members/x/x/x/x'));
  });
  test('a path with a parameter follows the same rules [S1]', async () => {
    const id = newId();
    for (const path of [`/probe/${id}`, `/probe/${id}/`, `/api/probe/${id}`, `/api/probe/${id}/?x=1`])
      expect((await client.get(path)).body.params).toEqual({ id });
    expect((await client.get(`/Probe/${id}`)).status).toBe(404);
  });
  test('a known path with another method answers 405 and lists the methods [S4]', async () => {
    const { status, body, headers } = await client.put('/probe', {});
    expect([status, body.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, POST']);
    expect(body.message).toBe('PUT /probe is not possible: this path takes GET, POST');
    expect((await client.send('PATCH', `/api/probe/${newId()}/`)).headers.get('allow')).toBe('DELETE, GET');
  });
  test('fixed segments win over parameters', async () => {
    expect((await client.get('/probe/fixed')).body.params).toEqual({});
  });
  test('HEAD is GET without a body', async () => {
    const { status, text, headers } = await client.send('HEAD', '/probe');
    expect([status, text]).toEqual([200, '']);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });
  test.each(['/probe/%', '/probe/by/%ff', '/probe/%00', '/probe/by/a%00b', '/%'])(
    '%s matches no route [S9]',
    async (path) => {
      const { status, body } = await client.get(path);
      expect([status, body.code]).toEqual([404, 'not_found']);
      expect(seen).toEqual([]);
    },
  );
  test.each(['not-an-id', `${newId()}%20`, newId().toUpperCase(), '..%2f..%2fetc', '%27', '1'])(
    'the id %s is impossible: handlers get an id that no row has [S9]',
    async (id) => {
      expect((await client.get(`/probe/${id}`)).body.params).toEqual({ id: '00000000-0000-0000-0000-000000000000' });
    },
  );
});

describe('answers', () => {
  test('success is 201 for a POST below /public/v1 and for a creation, else 200 [S2, T3]', async () => {
    const key = await ann.withKey();
    expect((await key.post('/public/v1/probe', { text: 'a' })).status).toBe(201);
    expect((await key.put('/public/v1/probe', { text: 'a' })).status).toBe(200);
    expect((await ann.client.post('/probe/created', { text: 'a' })).status).toBe(201);
    expect((await client.post('/probe', { text: 'a' })).status).toBe(200);
    expect((await client.delete(`/probe/${newId()}`)).body).toMatchObject({ body: null });
  });
  test('JSON has its type and charset, and null is sent [S23, GN4]', async () => {
    const { headers, text } = await client.get('/probe');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(text).toContain('"body":null');
  });
  test('bytes are sent unchanged', async () => {
    expect(await client.get('/probe/bytes')).toMatchObject({ status: 200, text: 'abcd' });
  });
  test('a handler gets the parts of the context that its file declares, and no others', async () => {
    expect((await client.get('/probe/rooms')).body).toEqual(['clock', 'health']);
  });

  test('a header of a handler replaces the default, in any case; an invalid one is a 500 and ends nothing', async () => {
    const own = await client.get('/probe/header?name=X-Request-ID&value=mine');
    expect([own.status, own.headers.get('x-request-id')]).toEqual([200, 'mine']);
    for (const value of ['a%0d%0ab:c', '%01', '%e2%82%ac'])
      expect((await client.get(`/probe/header?name=x-own&value=${value}`)).status).toBe(500);
    expect((await client.get('/probe')).status).toBe(200);
  });
  test('an error has one flat shape, for every status [S3, T20]', async () => {
    refusal = () => new AppError('conflict', 'It is taken', { own: 1 });
    expect((await client.get('/probe')).body).toEqual({
      statusCode: 409,
      error: 'Conflict',
      message: 'It is taken',
      msg: 'It is taken',
      code: 'conflict',
      own: 1,
    });
    expect(Object.keys((await client.get('/nothing')).body)).toEqual(['statusCode', 'error', 'message', 'msg', 'code']);
  });
  test('the answer 402 names the limit and the page to upgrade [S5, ER2, ER3]', async () => {
    refusal = () => limitExceeded('channel', 3);
    const { status, body } = await client.get('/probe');
    expect([status, body.code, body.limit, body.max, body.message]).toEqual([
      402,
      'limit_exceeded',
      'channel',
      3,
      'Plan limit reached: channel (3)',
    ]);
    expect(body.url).toBe(`${app.context.config.http.frontendUrl}/billing`);
  });
  test('an unknown failure shows its request id and nothing of its cause [S3]', async () => {
    refusal = () => Object.assign(new Error('the secret words of a cause'), { stack: 'secret stack' });
    const { status, body, headers, text } = await client.get('/probe');
    expect([status, body.requestId]).toEqual([500, headers.get('x-request-id')]);
    expect(text).not.toContain('secret');
  });
  test('a delay is given in seconds, in the header and the body', async () => {
    refusal = () => new AppError('busy', 'Later', { retryAfterMs: 1_200 });
    const { status, body, headers } = await client.get('/probe');
    expect([status, body.retryAfter, headers.get('retry-after'), body.retryAfterMs]).toEqual([503, 2, '2', undefined]);
  });
  test('a valid request id is echoed, and a missing one made [S21]', async () => {
    expect((await client.get('/probe', { 'x-request-id': 'my_Id-1' })).headers.get('x-request-id')).toBe('my_Id-1');
    for (const odd of ['a b', 'x'.repeat(256), 'a/b', '<script>']) {
      const made = (await client.get('/nothing', { 'x-request-id': odd })).headers.get('x-request-id')!;
      expect(made).toMatch(/^[A-Za-z0-9_-]{1,255}$/);
      expect(made).not.toBe(odd);
    }
  });
  test('authenticated answers and answers with tokens are marked no-store [S21]', async () => {
    expect((await ann.client.get('/user/self')).headers.get('cache-control')).toBe('no-store');
    expect((await client.get('/probe')).headers.get('cache-control')).toBeNull();
  });
});

describe('bodies', () => {
  test('every fault is reported, the first is the message [S6]', async () => {
    const { status, body } = await client.post('/probe', { text: '', count: 'x', inner: { a: 1 } });
    expect([status, body.code]).toEqual([400, 'validation_failed']);
    expect(body.errors.map((error: { field: string }) => error.field)).toEqual(['text', 'count', 'inner.a']);
    expect(body.message).toBe(body.errors[0].message);
  });
  test('an unknown field is named at any depth; open objects accept any key [S7, GN6]', async () => {
    const { status, body } = await client.post('/probe', { text: 'a', colour: 1, inner: { a: 'b', c: 1 } });
    expect([status, body.code]).toEqual([400, 'unknown_field']);
    expect(body.errors).toContainEqual({
      field: 'colour',
      message: 'property colour should not exist',
      rule: 'unknown',
    });
    expect(body.errors).toContainEqual({ field: 'inner.c', message: 'property c should not exist', rule: 'unknown' });
    expect((await client.post('/probe', { text: 'a', open: { anything: { goes: 1 } } })).status).toBe(200);
  });
  test('a route without a body accepts none, `{}`, and a bare content type; nothing else [S7, S8, T10, GN6]', async () => {
    const path = `/probe/${newId()}`;
    expect((await client.delete(path)).status).toBe(200);
    expect((await client.delete(path, {})).status).toBe(200);
    expect((await client.delete(path, undefined, { 'content-type': 'application/json' })).status).toBe(200);
    expect((await client.delete(path, { a: 1 })).body.code).toBe('unknown_field');
    for (const body of ['[]', 'null', '"x"', '1'])
      expect((await client.delete(path, body)).body.code).toBe('validation_failed');
    const { hostname, port } = new URL(app.address);
    const withBody = (text: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'content-length': text.length };
        httpRequest({ hostname, port, path: '/probe', method: 'GET', agent: false, headers }, (response) =>
          resolve(response.resume().statusCode!),
        )
          .on('error', reject)
          .end(text);
      });
    expect(await withBody('{}')).toBe(200);
    expect(await withBody('{"a":1}')).toBe(400);
  });
  test('unknown query parameters are ignored, even by a strict schema; bad values are not [S7, T8]', async () => {
    expect((await client.get('/probe?display=week&page=2&page=3')).body.query).toEqual({ page: 3 });
    expect((await client.get('/probe?page=x')).body.errors).toEqual([
      { field: 'page', message: expect.any(String), rule: 'invalid_type' },
    ]);
    expect((await client.get('/probe?page=%00')).status).toBe(400);
  });
  test.each(['{', '', '{"text":}', "{'text':1}", '{"text":"a"} x', '\u0001'])('%j is no JSON [S8]', async (text) => {
    const { status, body } = await client.post('/probe', text);
    // an absent body counts as {}
    if (text === '') expect(body.errors[0]).toMatchObject({ field: 'text', rule: 'required' });
    else
      expect([status, body.code, body.message]).toEqual([
        400,
        'invalid_json',
        expect.stringMatching(/^The body is not valid JSON: line 1, column \d+, where /),
      ]);
  });
  test('bytes that are no UTF-8 are no JSON [S8]', async () => {
    expect((await client.post('/probe', Buffer.from([0x22, 0xff, 0x22]))).body.code).toBe('invalid_json');
  });
  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json; charset=utf-16', 415],
    ['', 415],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
    ['application/json;charset="UTF-8"', 200],
  ])('a body of type %s: %i [S8]', async (type, status) => {
    expect((await client.post('/probe', '{"text":"a"}', { 'content-type': type })).status).toBe(status);
  });
  test('an encoded body is refused [S8]', async () => {
    expect((await client.post('/probe', '{"text":"a"}', { 'content-encoding': 'gzip' })).status).toBe(415);
  });
  test('a body that is too large is refused, announced or not [S8]', async () => {
    const large = JSON.stringify({ text: 'x'.repeat(2_000_000) });
    expect((await client.post('/probe', large)).body.code).toBe('too_large');
    expect((await client.post('/probe/small', { text: 'x'.repeat(100) })).status).toBe(413);
    const chunked = await raw(
      `POST /probe/small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n${'x'.repeat(128)}\r\n0\r\n\r\n`,
    );
    expect(chunked).toContain('413');
    expect((await client.post('/probe', { text: 'x'.repeat(1_900_000) })).status).toBe(200);
  });
  test.each(['__proto__', 'constructor', 'prototype'])(
    'the key %s is refused, even in open objects [S268]',
    async (key) => {
      const { status, body } = await client.post(
        '/probe',
        `{"text":"a","open":{"deep":{${JSON.stringify(key)}:{"polluted":1}}}}`,
      );
      expect([status, body.code, body.errors[0].field]).toEqual([400, 'unknown_field', `open.deep.${key}`]);
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    },
  );
  test.each(['"\\u0000"', '"a\\ud800"', '"\\udc00b"'])('%s cannot be stored [S268]', async (text) => {
    expect((await client.post('/probe', `{"text":${text}}`)).body).toMatchObject({
      code: 'validation_failed',
      errors: [{ field: 'text' }],
    });
    expect((await client.post('/probe', `{"text":"a","open":{${text}:1}}`)).body.code).toBe('validation_failed');
  });
  test('the last of two equal keys counts; empty and odd strings stay as sent [S268]', async () => {
    expect((await client.post('/probe', '{"text":"a","text":"b"}')).body.body.text).toBe('b');
    for (const text of [' a ', '\u202Ee\u0301', '💥', '\r\n', '‮'])
      expect((await client.post('/probe', { text })).body.body.text).toBe(text);
  });
  test('endless nesting is refused, at once', async () => {
    const nested = (depth: number) =>
      client.post('/probe', `{"text":"a","open":{"x":${'['.repeat(depth)}${']'.repeat(depth)}}}`);
    expect((await nested(10_000)).body.errors[0].rule).toBe('too_deep');
    expect((await nested(100_000)).body.errors[0].rule).toBe('too_big');
  });
});

describe('order of checks', () => {
  test('the order of checks is 401, then 403 csrf, then 429, then 403, then 400, then 409 [S15]', async () => {
    const bob = await app.signUp();
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId}`;
    const scale = app.context.config.http.rateLimitScale;
    const bad = (headers: Record<string, string | undefined> = {}, from = bob.client) =>
      from.post('/probe/order', { text: '', colour: 1 }, { 'idempotency-key': 'k', ...headers });
    expect((await bad({}, app.client())).body.code).toBe('unauthenticated');
    expect((await bad({ 'x-csrf-token': undefined })).body.code).toBe('csrf_failed');
    expect((await bad()).body.code).toBe('forbidden');
    await db.sql`update memberships set role_key = 'owner' where user_id = ${bob.userId}`;
    expect((await bad()).body.code).toBe('unknown_field');
    for (let n = 0; n < 3 * scale - 2; n += 1)
      await app.context.cache.hit(`post /probe/order|org:${bob.orgId}`, 3 * scale, 60_000);
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId}`;
    expect((await bad()).body.code).toBe('rate_limited');
    expect((await bad({ 'x-csrf-token': undefined })).body.code).toBe('csrf_failed');
    expect((await bad({}, app.client())).body.code).toBe('unauthenticated');
    expect(seen).toEqual([]);
  });
});

describe('idempotency', () => {
  const post = (text: string, key: string | undefined, path = '/probe/created') =>
    ann.client.post(path, { text }, { 'idempotency-key': key });
  const stored = () =>
    db.sql`select status, reply from idempotency_keys where org_id = ${ann.orgId} order by created_at desc, key`;

  test('a repeated request gets the first answer, byte for byte, and has no second effect [S18]', async () => {
    const key = randomUUID();
    const first = await post('once', key);
    const second = await post('once', key);
    expect([second.status, second.text, second.headers.get('idempotency-replayed')]).toEqual([
      first.status,
      first.text,
      'true',
    ]);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(seen).toHaveLength(1);
  });
  test('another body under the same key is refused; another path or org has keys of its own [S18]', async () => {
    const key = randomUUID();
    await post('a', key);
    expect((await post('b', key)).body).toMatchObject({ statusCode: 422, code: 'idempotency_mismatch' });
    const other = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${other.userId}, 'owner')`;
    const colleague = await other.client.post(
      '/probe/created',
      { text: 'a' },
      { 'idempotency-key': key, showorg: ann.orgId },
    );
    expect([colleague.status, colleague.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect((await other.client.post('/probe/created', { text: 'b' }, { 'idempotency-key': key })).status).toBe(201);
    const program = await ann.withKey();
    expect((await program.post('/public/v1/probe', { text: 'c' }, { 'idempotency-key': key })).status).toBe(201);
  });
  test('a repeated request is told to wait while the first is running [S18]', async () => {
    const key = randomUUID();
    let open = () => {};
    gate = new Promise((resolve) => (open = resolve));
    const first = post('slow', key);
    await eventually('the first is under way', () => seen.length > 0);
    const second = await post('slow', key);
    expect([second.status, second.body.code, second.headers.get('retry-after')]).toEqual([
      409,
      'idempotency_in_flight',
      '1',
    ]);
    open();
    expect((await first).status).toBe(201);
    expect((await post('slow', key)).headers.get('idempotency-replayed')).toBe('true');
  });
  test('one of fifty requests at once has the effect [S18]', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post('race', key)));
    expect(seen).toHaveLength(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  });
  test.each([
    ['invalid_content', true],
    ['not_found', true],
    ['conflict', true],
    ['link_expired', true],
    ['limit_exceeded', false],
    ['forbidden', false],
    ['rate_limited', false],
    ['internal', false],
    ['unavailable', false],
  ] as const)('an answer %s is kept: %s [S18]', async (code, kept) => {
    const key = randomUUID();
    refusal = () => new AppError(code, 'No');
    const first = await post('x', key);
    refusal = undefined;
    const second = await post('x', key);
    expect(second.status).toBe(kept ? first.status : 201);
    if (kept) expect(second.text).toBe(first.text);
  });
  test('a conflict that asks for a retry is not kept: the repeated request runs [S18]', async () => {
    const key = randomUUID();
    refusal = () => new AppError('conflict', 'Being completed', { retryAfterMs: 1_000 });
    expect((await post('x', key)).status).toBe(409);
    refusal = undefined;
    expect((await post('x', key)).status).toBe(201);
  });
  test('a key left by a dead process can be used again, and a day-old one is new [S18]', async () => {
    const key = randomUUID();
    await post('a', key);
    await db.sql`
      update idempotency_keys
      set status = null, reply = null, claimed_until = now() - interval '1 second'
      where key = ${key}`;
    expect((await post('a', key)).status).toBe(201);
    expect(seen).toHaveLength(2);
    await db.sql`update idempotency_keys set created_at = now() - interval '25 hours' where key = ${key}`;
    expect((await post('other', key)).status).toBe(201);
  });
  test.each(['', 'x'.repeat(256), 'a\tb'])('the key %j is invalid [S18]', async (key) => {
    const { status, body } = await post('a', key);
    expect([status, body.errors[0].field]).toEqual([400, 'idempotency-key']);
  });
  test('nothing is kept without the header, or on a route that creates nothing [S18]', async () => {
    const before = (await stored()).length;
    await post('a', undefined);
    await client.post('/probe', { text: 'a' }, { 'idempotency-key': randomUUID() });
    expect((await stored()).length).toBe(before);
  });
});

describe('rate limits', () => {
  test('each answer gives the remaining requests; beyond the limit 429 says when [S16, RL5, T17]', async () => {
    const limit = 2 * app.context.config.http.rateLimitScale;
    const { headers } = await client.get('/probe/limited');
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual([
      String(limit),
      String(limit - 1),
    ]);
    expect(Math.abs(Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000)).toBeLessThan(62); // oxlint-disable-line no-restricted-properties
    for (let n = 1; n < limit; n += 1) await app.context.cache.hit('get /probe/limited|ip:127.0.0.1', limit, 60_000);
    const refused = await client.get('/probe/limited');
    expect([refused.status, refused.body.code, refused.headers.get('x-ratelimit-remaining')]).toEqual([
      429,
      'rate_limited',
      '0',
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body.retryAfter).toBe(Number(refused.headers.get('retry-after')));
  });
  test('the default is API_LIMIT an hour, one bucket for each route and caller; the caller is the org [RL1, RL2, RL3, RL4, S17, S240]', async () => {
    const strict = await testApp({
      sql: db.sql,
      routes: [...allRoutes, ...probes],
      env: { RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' },
    });
    try {
      const cat = await strict.signUp();
      const { headers: first } = await cat.client.get('/user/organizations');
      expect(first.get('x-ratelimit-limit')).toBe('600');
      const after = Number(first.get('x-ratelimit-reset')) - new Date(first.get('date')!).getTime() / 1000;
      expect(Math.abs(after - 3_600)).toBeLessThan(30); // by the clock of the answer: an hour, and not a minute
      expect((await cat.client.get('/user/organizations')).headers.get('x-ratelimit-remaining')).toBe('598');
      expect((await cat.client.get('/user/sessions')).headers.get('x-ratelimit-remaining')).toBe('599');
      const program = await cat.withKey();
      const limited = () => cat.client.get('/probe/limited-too');
      expect([(await limited()).status, (await limited()).status, (await limited()).status]).toEqual([200, 200, 429]);
      const dan = await strict.signUp();
      expect((await dan.client.get('/probe/limited-too')).status).toBe(200);
      await db.sql`insert into memberships (org_id, user_id, role_key) values (${cat.orgId}, ${dan.userId}, 'USER')`;
      expect((await dan.client.post('/user/change-org', { id: cat.orgId })).status).toBe(200);
      expect((await dan.client.get('/probe/limited-too')).status).toBe(429); // of the org, whoever asks for it
      expect((await program.get('/public/v1/is-connected')).headers.get('x-ratelimit-remaining')).toBe('599');
      expect([
        (await strict.client().get('/probe/limited')).status,
        (await strict.client().get('/probe/limited')).status,
        (await strict.client().get('/probe/limited')).status,
      ]).toEqual([200, 200, 429]);
      const elsewhere = { 'x-forwarded-for': '203.0.113.9' };
      // each address has a bucket of its own
      expect((await strict.client().get('/probe/limited', elsewhere)).status).toBe(200);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  // without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
  (redisUrl ? test : test.skip)(
    'two replicas over one Redis count together; it counts for readiness [RL7, HE2]',
    async () => {
      await using redis = (await startRedis())!;
      const replicas = await Promise.all(
        [0, 1].map(() =>
          testApp({
            sql: db.sql,
            routes: [...allRoutes, ...probes],
            env: { RATE_LIMIT_SCALE: '1', REDIS_URL: redis.url },
          }),
        ),
      );
      // Opening waits for two seconds at most: a slow machine connects later.
      for (const replica of replicas)
        await eventually(
          'Redis is connected',
          async () => (await replica.client().get('/health/ready')).status === 200,
        );
      try {
        const bob = await replicas[0]!.signUp();
        const ask = (n: number) =>
          new Client(replicas[n]!.address).get('/probe/limited-too', { auth: bob.client.cookies.get('auth') });
        expect([(await ask(0)).status, (await ask(1)).status, (await ask(0)).status, (await ask(1)).status]).toEqual([
          200, 200, 429, 429,
        ]);
        expect((await replicas[0]!.client().get('/health/ready')).status).toBe(200);
      } finally {
        for (const replica of replicas) await replica[Symbol.asyncDispose]();
      }
    },
  );
  test('an address has 5 registrations and 10 logins a minute [S17]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' } });
    try {
      const from = (n: number) => ({ 'x-forwarded-for': `198.51.100.${n}` });
      const register = await Promise.all(
        Array.from({ length: 6 }, () => strict.client().post('/auth/register', {}, from(1))),
      );
      expect(register.map(({ status }) => status).toSorted()).toEqual([400, 400, 400, 400, 400, 429]);
      const login = (n: number, email = `${randomUUID()}@example.com`) =>
        strict.client().post('/auth/login', { provider: 'LOCAL', email, password: 'wrong password' }, from(n));
      const byAddress = [];
      for (let n = 0; n < 11; n += 1) byAddress.push((await login(2)).status);
      expect(byAddress).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test('the networks of one /48 share a bucket, of 16 times that of a network [S17]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '0.2', TRUST_PROXY_HOPS: '1' } });
    try {
      const from = (site: number, network: number) => ({
        'x-forwarded-for': `2001:db8:${site}:${network.toString(16)}::1`,
      });
      const ask = async (site: number, network: number) =>
        (await strict.client().post('/auth/register', {}, from(site, network))).status;
      expect([await ask(1, 0), await ask(1, 0)]).toEqual([400, 429]);
      const others = [];
      for (let network = 1; network < 17; network += 1) others.push(await ask(1, network));
      expect(others.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1);
      expect([await ask(1, 99), await ask(2, 99)]).toEqual([429, 400]);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test('an address gets 429 after 120 refused credentials, and valid credentials pass [S15, S241]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
    try {
      const eve = await strict.signUp();
      const key = await eve.withKey();
      const bad = () => strict.client().get('/public/v1/is-connected', { authorization: `pm_live_${'x'.repeat(43)}` });
      for (let n = 0; n < 120; n += 1) expect((await bad()).status).toBe(401);
      const refused = await bad();
      expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
      expect((await key.get('/public/v1/is-connected')).status).toBe(200);
      expect((await eve.client.get('/user/self')).status).toBe(200);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test.each([
    [undefined, '127.0.0.1', '[RL8, X21]'],
    ['nonsense', '127.0.0.1', '[RL8]'],
    ['1', '203.0.113.3', '[RL9, X21]'],
    ['2', '203.0.113.2', '[RL9, X21]'],
    ['9', '127.0.0.1', '[RL9]'],
  ] as [string | undefined, string, string][])('the caller behind %s proxies is %s %s', async (hops, expected) => {
    const proxied = await testApp({
      sql: db.sql,
      routes: probes,
      env: hops === undefined ? {} : { TRUST_PROXY_HOPS: hops },
    });
    try {
      expect(
        (await proxied.client().get('/probe', { 'x-forwarded-for': '203.0.113.1, 203.0.113.2,203.0.113.3' })).body.ip,
      ).toBe(expected);
      expect((await proxied.client().get('/probe')).body.ip).toBe('127.0.0.1');
      expect((await proxied.client().get('/probe', { 'x-forwarded-for': 'not an address' })).body.ip).toBe('127.0.0.1');
    } finally {
      await proxied[Symbol.asyncDispose]();
    }
  });
});

describe('headers', () => {
  const NAMES = [
    'strict-transport-security',
    'x-frame-options',
    'x-content-type-options',
    'referrer-policy',
    'content-security-policy',
    'cross-origin-resource-policy',
  ];
  const production = {
    NODE_ENV: 'production',
    FRONTEND_URL: 'https://app.example.com',
    NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com',
    BACKEND_INTERNAL_URL: 'https://api.example.com',
    DATABASE_URL: 'postgres://127.0.0.1/x',
    REDIS_URL: 'redis://127.0.0.1',
  };

  test('every answer in production carries the security headers, errors included [HD1, HD2, HD3, HD4, HD5, HD6]', async () => {
    const secure = await testApp({ sql: db.sql, routes: probes, env: production });
    try {
      for (const path of ['/probe', '/nothing', `/probe/${newId()}`]) {
        const { headers } = await secure.client().get(path);
        expect(NAMES.map((name) => headers.get(name))).toEqual([
          'max-age=31536000; includeSubDomains; preload',
          'DENY',
          'nosniff',
          'strict-origin-when-cross-origin',
          expect.stringContaining("default-src 'none'"),
          'cross-origin',
        ]);
        expect(headers.get('x-powered-by')).toBeNull();
      }
    } finally {
      await secure[Symbol.asyncDispose]();
    }
  });
  test('NOT_SECURED turns off the security headers and the CSRF check [CS9, CS10]', async () => {
    const open = await testApp({ sql: db.sql, env: { ...production, NOT_SECURED: 'true' } });
    try {
      const fay = await open.signUp();
      const { headers } = await fay.client.get('/user/self');
      expect(NAMES.map((name) => headers.get(name))).toEqual(NAMES.map(() => null));
      expect((await fay.client.post('/user/api-keys', { name: 'k' }, { 'x-csrf-token': undefined })).status).toBe(201);
    } finally {
      await open[Symbol.asyncDispose]();
    }
  });
  test('cookies in production are for the common domain, secure and for other sites [S26, S229, CS4]', async () => {
    const secure = await testApp({ sql: db.sql, env: production });
    try {
      const answer = await secure.client().post('/auth/register', {
        provider: 'LOCAL',
        email: `${randomUUID()}@example.com`,
        password: 'long enough',
        company: 'Acme',
      });
      const cookies = answer.headers.getSetCookie();
      for (const cookie of cookies)
        expect(cookie).toContain('; Max-Age=2592000; Path=/; Domain=example.com; Secure; SameSite=None');
      expect(cookies.map((cookie) => [cookie.split('=')[0], cookie.endsWith('; HttpOnly')])).toEqual([
        ['auth', true],
        ['refresh', true],
        ['csrf_token', false],
      ]);
    } finally {
      await secure[Symbol.asyncDispose]();
    }
  });
  test('console routes answer only to the origins of the console, with credentials [S20]', async () => {
    const origin = new URL(app.context.config.http.frontendUrl).origin;
    const own = (await ann.client.get('/user/self', { origin })).headers;
    expect([
      own.get('access-control-allow-origin'),
      own.get('access-control-allow-credentials'),
      own.get('vary'),
    ]).toEqual([origin, 'true', 'Origin']);
    expect(own.get('access-control-expose-headers')).toContain('x-ratelimit-remaining');
    for (const foreign of ['https://evil.example', 'null', `${origin}.evil.example`]) {
      const { headers } = await ann.client.get('/user/self', { origin: foreign });
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });
  test('public routes answer to every origin, without credentials; with a cookie the rule of the console holds [S20]', async () => {
    const key = await ann.withKey();
    const { headers } = await key.get('/public/v1/is-connected', { origin: 'https://anywhere.example' });
    expect([headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')]).toEqual([
      '*',
      null,
    ]);
    expect(
      (await ann.client.get('/public/v1/both', { origin: 'https://anywhere.example' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBeNull();
    expect(
      (await client.get('/.well-known/apps-challenge', { origin: 'https://anywhere.example' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBe('*');
  });
  test('a preflight is answered without a credential [S20]', async () => {
    const { status, headers } = await client.send('OPTIONS', '/public/v1/probe', undefined, {
      origin: 'https://anywhere.example',
      'access-control-request-method': 'POST',
    });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    for (const name of [
      'authorization',
      'auth',
      'content-type',
      'x-csrf-token',
      'idempotency-key',
      'showorg',
      'if-match',
    ])
      expect(headers.get('access-control-allow-headers')).toContain(name);
  });
});

describe('health and process', () => {
  test('live checks nothing; ready checks database and cache [HE1, HE2, HE6, S24]', async () => {
    expect((await client.get('/health/live')).body).toEqual({ status: 'ok', timestamp: expect.stringMatching(/Z$/) });
    expect((await client.get('/health/ready')).body).toEqual({
      status: 'ok',
      timestamp: expect.any(String),
      dependencies: { database: { ok: true }, redis: { ok: true } },
    });
  });
  // without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
  (redisUrl ? test : test.skip)(
    'a Redis that is away is told, without its address, and live goes on [HE1, HE3, HE4, S24]',
    async () => {
      await using redis = (await startRedis(['--user', 'rookery', 'on', '>a-password-of-redis', '~*', '&*', '+@all']))!;
      const url = new URL(redis.url);
      await using lame = await testApp({
        sql: db.sql,
        env: { REDIS_URL: `redis://rookery:a-password-of-redis@${url.host}` },
      });
      const ready = () => lame.client().get('/health/ready');
      await eventually('Redis is connected', async () => (await ready()).status === 200);
      await redis[Symbol.asyncDispose]();
      const { status, body, text } = await ready();
      expect([status, body.status, body.dependencies]).toEqual([
        503,
        'unavailable',
        { database: { ok: true }, redis: { ok: false, error: 'unreachable' } },
      ]);
      for (const secret of ['password', url.port, 'ECONN'])
        expect(text.replace(body.timestamp, '')).not.toContain(secret);
      expect((await lame.client().get('/health/live')).status).toBe(200);
    },
  );
  test('a process that was suspended reads the waiting answer of the database, and does not report it unavailable [HE4]', async () => {
    let asked = false;
    // longer than an answer may take
    const standStill = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
    const sql = openDatabase({
      url: db.url,
      connections: 2,
      onStatement(text) {
        if (text.trim() !== 'select 1') return;
        asked = true;
        setImmediate(standStill); // the database has been asked
      },
    });
    const stalled = await testApp({ sql });
    try {
      await sql`select 2`; // a connection is there
      expect((await stalled.client().get('/health/ready')).body.dependencies).toEqual({
        database: { ok: true },
        redis: { ok: true },
      });
      expect(asked).toBe(true);
    } finally {
      await stalled[Symbol.asyncDispose]();
      await sql.end();
    }
  });
  test('a database that is away is reported, and live goes on [HE1, HE3, HE4]', async () => {
    await using own = await testDatabase();
    const lame = await testApp({ sql: own.sql });
    await own.sql.end();
    try {
      const { status, body } = await lame.client().get('/health/ready');
      expect([status, body.status, body.dependencies.database.ok, body.dependencies.redis.ok]).toEqual([
        503,
        'unavailable',
        false,
        true,
      ]);
      expect((await lame.client().get('/health/live')).status).toBe(200);
      expect(
        (await lame.client().post('/auth/login', { provider: 'local', email: 'a@b.co', password: 'x' })).body,
      ).toMatchObject({
        statusCode: 503,
        code: 'unavailable',
        retryAfter: 2,
      });
    } finally {
      await lame[Symbol.asyncDispose]();
    }
  });
  test('a process that is ending is not ready [S24]', async () => {
    app.context.health.draining = true;
    expect((await client.get('/health/ready')).status).toBe(503);
    app.context.health.draining = false;
    expect((await client.get('/health/ready')).status).toBe(200);
  });
  test('the summary has jobs, crons and lateness [HE5, S24]', async () => {
    await using own = await testDatabase();
    await using host = await openPublishing({ url: own.url });
    await using busy = await testApp({ sql: own.sql, engine: host });
    const due = new Date(Date.now() + 3_600_000);
    await host.engine.remind(
      ['a', 'b'].map((id) => ({ type: 'Channel', id: `${newId()}/${id}`, name: 'due', due, owner: newId() })),
    );
    await own.sql`
      insert into cron_runs
      values ('reconciler', '1970-01-01T00:00:00Z', 'ok', 3, 0), ('sweeper', null, null, null, null)`;
    const counts = BOUNDS.map((bound) => ({ 5: 98, 50: 2 })[bound as number] ?? 0);
    await own.sql`insert into lateness values (date_trunc('minute', now()), 'a', ${counts})`;
    expect((await busy.client().get('/health')).body).toEqual({
      status: 'ok',
      timestamp: expect.any(String),
      version: busy.context.config.version,
      jobs: { engine: 'embedded', wired: ['Organization', 'Channel', 'Post', 'Webhook'], pending: 2 },
      crons: [
        { name: 'reconciler', lastRunAt: '1970-01-01T00:00:00.000Z', lastStatus: 'ok', lastDurationMs: 3 },
        { name: 'sweeper', lastRunAt: null, lastStatus: null, lastDurationMs: null },
      ],
      lateness: { p50Ms: 5, p99Ms: 50 },
    });
  });
  test.each(['/health', '/health/live', '/health/ready'])('%s carries no rate headers [HE7, S16]', async (path) => {
    const { status, headers } = await client.get(path);
    expect([status, [...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))]).toEqual([200, []]);
  });
  test('the challenge of an app store is served as plain text; without one the answer is 404 [GN7, S25]', async () => {
    expect((await client.get('/.well-known/apps-challenge')).status).toBe(404);
    const owner = await testApp({ sql: db.sql, env: { APPS_CHALLENGE: 'abc.123' } });
    try {
      const { status, text, headers } = await owner.client().get('/.well-known/apps-challenge');
      expect([status, text, headers.get('content-type')]).toEqual([200, 'abc.123', 'text/plain; charset=utf-8']);
    } finally {
      await owner[Symbol.asyncDispose]();
    }
  });
  test('a taken port is reported with its setting', async () => {
    const { port } = new URL(app.address);
    await expect(testApp({ sql: db.sql, env: { PORT: port } })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is taken by another process. Choose a free one with PORT`,
    );
  });
  test('closing answers running requests and accepts no new ones', async () => {
    const ending = await testApp({ sql: db.sql, routes: probes });
    const asker = ending.client();
    let open = () => {};
    gate = new Promise((resolve) => (open = resolve));
    const running = asker.get('/probe');
    await eventually('the first is under way', () => seen.length > 0);
    const closed = ending[Symbol.asyncDispose]();
    await expect(ending.client().get('/probe')).rejects.toThrow();
    open();
    expect((await running).status).toBe(200);
    await closed;
  });
  test('each answer is reported with its declared route, its caller and its time', async () => {
    const id = newId();
    await client.get(`/probe/${id}?secret=1`);
    expect(app.answered.at(-1)).toMatchObject({ method: 'GET', route: '/probe/:id', status: 200, error: undefined });
    await ann.client.get('/probe/admin');
    expect(app.answered.at(-1)).toMatchObject({
      route: '/probe/admin',
      status: 403,
      orgId: ann.orgId,
      userId: ann.userId,
      error: { code: 'super_admin_required' },
    });
  });
});
