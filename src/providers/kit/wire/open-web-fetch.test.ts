import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { systemClock } from '../../../platform/kernel/index.ts';
import { type Outbound, openOutbound } from '../../../platform/outbound/index.ts';
import { type Receiver, startReceiver } from '../../../../test/support/wire/receiver.ts';
import { openConnection } from './connection.ts';
import { openWebFetch } from './open-web-fetch.ts';
import { PLACEHOLDER_KEY, type WebFetchLimits } from './web-fetch.ts';

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
beforeEach(() => {
  receiver.ledger.splice(0);
  receiver.answer = (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('pong');
});

const ROOMY: WebFetchLimits = { headMs: 20_000, silenceMs: 20_000, wholeMs: 20_000, bytes: 1_000_000, creates: true };
const open = (limits: Partial<WebFetchLimits> = {}, through = outbound) => {
  const manifest = {
    title: 'Demo',
    api: receiver.url,
    auth: { in: 'header', name: 'X-Key', field: 'key' } as const,
    errorInside: z.object({ failed: z.literal(true) }).transform(() => 'exhausted' as const),
  };
  const connection = openConnection({ manifest, clock: systemClock, values: { key: 'the-key' }, secrets: ['the-key'] });
  return openWebFetch({ connection, manifest, outbound: through })({ ...ROOMY, ...limits });
};
const sent = () => receiver.ledger[0]!;

describe('webFetch', () => {
  test('sends texts, bytes, forms, blobs and streams, by address, URL and Request', async () => {
    const fetch = open();
    const form = new FormData();
    form.set('name', 'Ann');
    form.set('file', new File(['hello'], 'a.txt', { type: 'text/plain' }));
    const stream = () =>
      new ReadableStream({
        start(controller) {
          for (const piece of ['str', 'eam']) controller.enqueue(new TextEncoder().encode(piece));
          controller.close();
        },
      });
    const post = (body: NonNullable<RequestInit['body']>, headers = {}): RequestInit => ({
      method: 'POST',
      body,
      headers,
    });
    await fetch(`${receiver.url}/1`, post('text'));
    await fetch(new URL('/2?a=b', receiver.url), post(Uint8Array.of(1, 2)));
    await fetch(new Request(`${receiver.url}/3`, post(new URLSearchParams({ a: 'b c' }))));
    await fetch(`${receiver.url}/4`, post(form));
    await fetch(`${receiver.url}/5`, post(new Blob(['blob'], { type: 'image/png' })));
    await fetch(`${receiver.url}/6`, post(stream()));
    await fetch(`${receiver.url}/7`, post(stream(), { 'content-length': '6' }));
    expect(await (await fetch(`${receiver.url}/8`)).text()).toBe('pong');
    const [text, bytes, named, parts, blob, untold, told, none] = receiver.ledger;
    expect(receiver.ledger.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /1',
      'POST /2?a=b',
      'POST /3',
      'POST /4',
      'POST /5',
      'POST /6',
      'POST /7',
      'GET /8',
    ]);
    expect([text!.body.toString(), [...bytes!.body], named!.body.toString()]).toEqual(['text', [1, 2], 'a=b+c']);
    expect(named!.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
    const type = parts!.headers['content-type']!;
    const read = await new Response(new Uint8Array(parts!.body), { headers: { 'content-type': type } }).formData();
    expect([read.get('name'), await (read.get('file') as File).text()]).toEqual(['Ann', 'hello']);
    expect([blob!.body.toString(), blob!.headers['content-type'], blob!.headers['content-length']]).toEqual([
      'blob',
      'image/png',
      '4',
    ]);
    expect([untold!.body.toString(), told!.body.toString(), none!.body.length]).toEqual(['stream', 'stream', 0]);
  });

  test('adds the credentials of the line in the place of those of the library, and to no other origin', async () => {
    const headers = {
      'x-key': 'of the library',
      authorization: `Bearer ${PLACEHOLDER_KEY}`,
      'user-agent': 'library/1',
    };
    await open()(`${receiver.url}/`, { headers });
    expect(sent().headers).toMatchObject({ 'x-key': 'the-key', 'user-agent': 'rookery' });
    expect(sent().headers['authorization']).toBeUndefined();
    await open()(`http://localhost:${receiver.port}/`, { headers: { authorization: PLACEHOLDER_KEY } });
    expect(receiver.ledger[1]!.headers).not.toHaveProperty('x-key');
  });

  test('throws the failure of a refusal, of a redirect and of one inside a 200, without secrets', async () => {
    const fails = async (status: number, body: object, headers: Record<string, string> = {}) => {
      receiver.answer = (response) =>
        void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
      return open()(`${receiver.url}/`).then(
        (answer) => answer.json(),
        (error: unknown) => error,
      );
    };
    expect(await fails(401, { message: 'the-key is wrong' })).toMatchObject({
      failure: 'reauthorize',
      message: 'Demo answered 401: *** is wrong',
    });
    expect(await fails(429, {}, { 'retry-after': '7' })).toMatchObject({
      failure: 'rate_limited',
      retryAfterMs: 7_000,
    });
    expect(await fails(307, {}, { location: 'https://elsewhere.example/' })).toMatchObject({ failure: 'rejected' });
    expect(await fails(200, { failed: true })).toMatchObject({ failure: 'exhausted' });
    expect(await fails(200, { failed: false })).toEqual({ failed: false });
    expect(await fails(500, { message: 'x'.repeat(200_000) })).toMatchObject({ failure: 'lost' });
  });

  test('makes a cut, a silence and too many bytes errors of the stream, after what came before', async () => {
    const read = async (limits: Partial<WebFetchLimits> = {}) => {
      const answer = await open(limits)(`${receiver.url}/`);
      let text = '';
      try {
        for await (const piece of answer.body as AsyncIterable<Uint8Array>) text += Buffer.from(piece).toString();
      } catch (error) {
        return { text, failure: (error as { failure?: string }).failure };
      }
      return { text };
    };
    receiver.answer = (response, _, message) => {
      response.writeHead(200).write('begun');
      message.socket.end();
    };
    expect(await read()).toEqual({ text: 'begun', failure: 'lost' });
    receiver.answer = (response) => void response.writeHead(200).write('begun');
    expect(await read({ silenceMs: 20 })).toEqual({ text: 'begun', failure: 'lost' });
    expect(await read({ wholeMs: 200 })).toEqual({ text: 'begun', failure: 'lost' });
    receiver.answer = (response) => void response.writeHead(200).end('0123456789');
    expect(await read({ bytes: 4 })).toMatchObject({ failure: 'lost' });
    expect(await read()).toEqual({ text: '0123456789' });
  });

  test('is lost when no head comes in time, and unavailable where no connection was made', async () => {
    receiver.answer = () => undefined;
    await expect(open({ headMs: 20 })(`${receiver.url}/`, { method: 'POST', body: 'x' })).rejects.toMatchObject({
      failure: 'lost',
    });
    const gone = await startReceiver();
    await gone[Symbol.asyncDispose]();
    await expect(open()(gone.url)).rejects.toMatchObject({ failure: 'unavailable' });
    await expect(open()('https://10.0.0.1/')).rejects.toMatchObject({ failure: 'rejected' });
  });

  test('ends the request when the caller gives up or leaves, which is no failure of the provider', async () => {
    let closed = 0;
    receiver.answer = (response) => {
      response.once('close', () => void (closed += 1));
      response.writeHead(200).write('begun');
    };
    const gone = new AbortController();
    const first = await open()(`${receiver.url}/`, { signal: gone.signal });
    const reader = first.body!.getReader();
    await reader.read();
    gone.abort();
    await expect(reader.read()).rejects.toMatchObject({ code: 'unavailable' });
    const second = await open()(`${receiver.url}/`);
    await second.body!.cancel();
    while (closed < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(2);
    await expect(open()(`${receiver.url}/`, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
