import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { AppError, limitExceeded, newId } from '../../../src/platform/kernel/index.ts';
import { openLadder, probeState, resetProbes, sendRaw } from '../../support/worlds/ladder.ts';

const { app, ann, client, close } = await openLadder();
afterAll(close);
afterEach(resetProbes);

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
      expect(probeState.seen).toEqual([]);
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
    probeState.refusal = () => new AppError('conflict', 'It is taken', { own: 1 });
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
    probeState.refusal = () => limitExceeded('channel', 3);
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
    probeState.refusal = () => Object.assign(new Error('the secret words of a cause'), { stack: 'secret stack' });
    const { status, body, headers, text } = await client.get('/probe');
    expect([status, body.requestId]).toEqual([500, headers.get('x-request-id')]);
    expect(text).not.toContain('secret');
  });
  test('a delay is given in seconds, in the header and the body', async () => {
    probeState.refusal = () => new AppError('busy', 'Later', { retryAfterMs: 1_200 });
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
    const chunked = await sendRaw(
      app.address,
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
