import { brotliCompressSync, constants, createZstdCompress, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openOutbound, type OutboundError } from '../../../src/platform/outbound/index.ts';
import { socketConnector } from '../../../src/platform/outbound/pools.ts';
import { failed, openGuarded } from '../../support/worlds/guarded.ts';
import { startWebSocketServer } from '../../support/wire/websocket-server.ts';

const guarded = await openGuarded();
afterAll(() => guarded[Symbol.asyncDispose]());
beforeEach(guarded.reset);
const { tls, receiver, beneath, names, resolver, local, at } = guarded;

describe('answers to outbound requests', () => {
  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['gzip, br', (data: Buffer) => brotliCompressSync(gzipSync(data))],
  ])('%s is decompressed, and its limit counts decompressed bytes', async (coding, pack) => {
    receiver.answer = (response) =>
      void response.writeHead(200, { 'content-encoding': coding }).end(pack(Buffer.alloc(1_000_000, 'a')));
    expect((await local.fetch(at('/'), { maxBytes: 1_000_000 })).body.length).toBe(1_000_000);
    expect((await failed(local.fetch(at('/'), { maxBytes: 999_999 }))).failure).toBe('too_large');
    expect((await local.fetch(at('/'), { maxBytes: 10, onTooLarge: 'cut' })).text()).toBe('aaaaaaaaaa');
  });
  test('an answer in an unknown encoding is returned as it is', async () => {
    for (const coding of ['snappy', 'constructor', 'toString', '__proto__', 'gzip, valueOf']) {
      receiver.answer = (response) => void response.writeHead(200, { 'content-encoding': coding }).end('as it is');
      expect([coding, (await local.fetch(at('/'))).text()]).toEqual([coding, 'as it is']);
    }
  });
  test('an answer that needs a decompression window over 8 MB is refused', async () => {
    const packed = (windowLog: number) => {
      const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: windowLog } });
      stream.write('small'); // of unknown length, so that the window stands in its head
      stream.end();
      return buffer(stream);
    };
    for (const [windowLog, wanted] of [
      [23, 'small'],
      [24, 'interrupted'],
      [27, 'interrupted'],
    ] as const) {
      const body = await packed(windowLog);
      receiver.answer = (response) => void response.writeHead(200, { 'content-encoding': 'zstd' }).end(body);
      const said = await local.fetch(at('/')).then(
        (answer) => answer.text(),
        (error: OutboundError) => error.failure,
      );
      expect([windowLog, said]).toEqual([windowLog, wanted]);
    }
  });
  test('an answer without a body is empty, whatever its content encoding', async () => {
    for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, br'])
      for (const [method, status] of [
        ['HEAD', 200],
        ['GET', 204],
        ['GET', 304],
        ['POST', 201],
      ] as const) {
        receiver.answer = (response) => void response.writeHead(status, { 'content-encoding': coding }).end();
        const answer = await local.fetch(at('/'), { method });
        expect([coding, method, answer.status, answer.text()]).toEqual([coding, method, status, '']);
      }
  });
  test('answers encoded too often or badly are errors without a crash', async () => {
    receiver.answer = (response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip, gzip, gzip, gzip' }).end();
    expect((await failed(local.fetch(at('/')))).failure).toBe('interrupted');
    receiver.answer = (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip at all');
    expect((await failed(local.fetch(at('/')))).failure).toBe('interrupted');
  });
  test('headers with bytes beyond ASCII are read as bytes', async () => {
    receiver.answer = (response) =>
      void response.socket!.end(
        'HTTP/1.1 200 OK\r\nx-note: \u65e5\u672c\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok',
      );
    const answer = await local.fetch(at('/'));
    expect([answer.text(), Buffer.from(answer.headers.get('x-note')!, 'latin1').toString()]).toEqual([
      'ok',
      '\u65e5\u672c',
    ]);
  });
  test('a body that breaks off is an error, with and without a declared length', async () => {
    for (const headers of [{ 'content-length': '10' }, {}]) {
      receiver.answer = (response) => {
        response.writeHead(200, headers);
        response.write('four', () => response.socket!.destroy());
      };
      expect(await failed(local.fetch(at('/')))).toMatchObject({ failure: 'interrupted', sent: true });
    }
  });
  test('an endless answer is cut at the size limit', async () => {
    receiver.answer = (response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(Buffer.alloc(100_000)), 1);
      response.once('close', () => clearInterval(timer));
    };
    expect((await failed(local.fetch(at('/'), { maxBytes: 1_000_000 }))).failure).toBe('too_large');
  });
  test('an answer slow in its head or body is cut at the time limit of the whole request [OB10]', async () => {
    const quick = openOutbound({
      timeoutMs: 150,
      allowedPrivateCidrs: ['127.0.0.1/32'],
      resolver,
      connector: beneath([tls.cert]),
    });
    receiver.answer = () => {};
    expect(await failed(quick.fetch(at('/')))).toMatchObject({ failure: 'timeout', message: 'timeout', sent: true });
    receiver.answer = (response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 10);
      response.once('close', () => clearInterval(timer));
    };
    expect((await failed(quick.fetch(at('/')))).failure).toBe('timeout');
    names['slow.test'] = ['127.0.0.1'];
    const never = openOutbound({
      timeoutMs: 50,
      allowedPrivateCidrs: [],
      resolver: () => new Promise(() => {}),
      connector: beneath([]),
    });
    expect(await failed(never.fetch('https://slow.test/'))).toMatchObject({ failure: 'timeout', sent: false });
    await Promise.all([quick, never].map((one) => one[Symbol.asyncDispose]()));
  });
  test('a broken answer reports the request as sent, a failed connection as not sent', async () => {
    receiver.answer = (_, __, message) => void message.socket.destroy();
    expect(await failed(local.fetch(at('/'), { method: 'POST', body: 'x' }))).toMatchObject({
      failure: 'interrupted',
      sent: true,
    });
    expect(await failed(local.fetch('https://hook.test:1/', { method: 'POST', body: 'x' }))).toMatchObject({
      failure: 'unreachable',
      sent: false,
    });
    expect(await failed(local.fetch('https://unknown.test/'))).toMatchObject({ failure: 'unreachable', sent: false });
  });
  test('a server with a certificate of another name or an unknown authority is refused', async () => {
    names['hook.example'] = ['127.0.0.1'];
    expect((await failed(local.fetch(at('/', 'hook.example')))).failure).toBe('unreachable');
    const distrustful = openOutbound({ timeoutMs: 30_000, allowedPrivateCidrs: ['127.0.0.1/32'], resolver });
    expect((await failed(distrustful.fetch(at('/')))).failure).toBe('unreachable');
    await distrustful[Symbol.asyncDispose]();
    expect(receiver.ledger).toEqual([]);
  });
  test('a streamed answer has the same limits', async () => {
    receiver.answer = (response) =>
      void response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(50_000));
    const answer = await local.stream(at('/'), { maxBytes: 20_000 });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
    await expect(
      (async () => {
        for await (const piece of answer.body) expect(piece.length).toBeGreaterThan(0);
      })(),
    ).rejects.toMatchObject({ failure: 'too_large' });
    const left = await local.stream(at('/'));
    left.cancel();
  });
});

describe('outbound websockets', () => {
  const ended = (socket: WebSocket) =>
    new Promise<string[]>((resolve) => {
      const seen: string[] = [];
      for (const event of ['open', 'message'] as const) socket.addEventListener(event, () => seen.push(event));
      socket.addEventListener('close', () => resolve(seen));
    });

  test('follow no redirect [OB5]', async () => {
    await using server = await startWebSocketServer({ onText: () => {}, refuse: () => 302 }); // to http://127.0.0.1:1
    let asked = 0;
    await using counted = openOutbound({
      timeoutMs: 30_000,
      allowedPrivateCidrs: ['127.0.0.1/32'],
      connector: (options, callback) => {
        asked += 1;
        socketConnector()(options, callback);
      },
    });
    expect([await ended(counted.webSocket(server.url)), asked]).toEqual([[], 1]);
  });

  test('are closed on a message that is too long, compressed or not', async () => {
    for (const packs of [false, true])
      for (const [length, wanted] of [
        [1_000_000, ['open', 'message']],
        [12_000_000, ['open']],
      ] as const) {
        await using server = await startWebSocketServer({
          packs,
          onText: () => {},
          onConnect: (peer) => (packs ? peer.sendPacked : peer.send)('x'.repeat(length)),
        });
        const socket = local.webSocket(server.url);
        socket.addEventListener('message', () => socket.close());
        expect([packs, length, await ended(socket)]).toEqual([packs, length, wanted]);
      }
  });
});

describe('outbound requests', () => {
  test('refuse injected headers, hosts and lines', async () => {
    for (const headers of [{ 'x-a': 'b\r\nx-evil: 1' }, { 'x-a\r\nx-evil': '1' }])
      expect((await failed(local.fetch(at('/'), { headers }))).failure).toBe('invalid');
    await local.fetch(at('/a%0d%0ax-evil:1'), {
      headers: { Host: 'internal', 'Content-Length': '5', 'Transfer-Encoding': 'chunked', Connection: 'upgrade' },
    });
    await local.fetch(at('/b\r\nx-evil: 1'));
    expect(
      receiver.ledger.map(({ headers }) => [headers.host, headers['x-evil'], headers['transfer-encoding']]),
    ).toEqual([1, 2].map(() => [`hook.test:${receiver.port}`, undefined, undefined]));
  });
  test('send streams of exactly the declared length, and refuse others', async () => {
    const stream = (said: number) => ({
      bytes: said,
      from: {
        async *[Symbol.asyncIterator]() {
          for (const piece of ['some ', 'bytes']) yield Buffer.from(piece);
        },
      },
    });
    names['turn.test'] = ['127.0.0.9', '127.0.0.1']; // nobody listens at the first
    const both = openOutbound({
      timeoutMs: 30_000,
      allowedPrivateCidrs: ['127.0.0.0/8'],
      resolver,
      connector: beneath([tls.cert]),
    });
    for (const host of ['hook.test', 'turn.test']) await both.fetch(at('/', host), { method: 'PUT', body: stream(10) });
    await both[Symbol.asyncDispose]();
    expect(
      receiver.ledger.map(({ headers, body }) => [
        headers['content-length'],
        headers['transfer-encoding'],
        body.toString(),
      ]),
    ).toEqual([
      ['10', undefined, 'some bytes'],
      ['10', undefined, 'some bytes'],
    ]);
    for (const said of [9, 11])
      await expect(local.fetch(at('/'), { method: 'PUT', body: stream(said) })).rejects.toThrow();
    expect(receiver.ledger).toHaveLength(2);
  });
  test('are aborted when their caller aborts', async () => {
    receiver.answer = () => {};
    const giveUp = new AbortController();
    const running = failed(local.fetch(at('/'), { signal: giveUp.signal }));
    giveUp.abort();
    expect((await running).failure).toBe('interrupted');
  });
});
