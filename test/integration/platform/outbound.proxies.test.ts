// oxlint-disable max-lines -- the proxies are started once for all cases
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { openOutbound, type OutboundError, type OutboundProxy } from '../../../src/platform/outbound/index.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { describePeer } from '../../support/peers/peers.ts';
import { microsocks, tinyproxy } from '../../support/peers/proxy-peers.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type ProxyServer, startProxy } from '../../support/wire/proxy-server.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { startWebSocketServer } from '../../support/wire/websocket-server.ts';

const tls = makeCertificate(['hook.test', 'other.test', 'proxy.test']);
const receiver = await startReceiver({ tls });
const plain = await startReceiver();
const names: Record<string, string[]> = {};
const resolver = async (name: string) => names[name] ?? Promise.reject(new Error(`ENOTFOUND ${name}`));
const outbound = openOutbound({
  timeoutMs: 30_000,
  allowedPrivateCidrs: ['127.0.0.1/32'],
  resolver,
  authorities: [tls.cert],
});
const opened: ProxyServer[] = [];
const login = { username: 'ann:b', password: 'p@ss word/ü' };
/** Where those came from who called. */
const from: (string | undefined)[] = [];

beforeEach(() => {
  from.length = receiver.ledger.length = plain.ledger.length = 0;
  for (const name of Object.keys(names)) delete names[name];
  names['hook.test'] = names['proxy.test'] = ['127.0.0.1'];
  for (const server of [receiver, plain])
    server.answer = (response, _, message) => {
      from.push(message.socket.remoteAddress);
      response.writeHead(200).end('ok');
    };
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});
afterAll(async () => {
  for (const one of [outbound, receiver, plain]) await one[Symbol.asyncDispose]();
});

const PROTOCOLS = ['socks5', 'http', 'https'] as const;
async function proxy(options: Parameters<typeof startProxy>[0], more: Partial<OutboundProxy> = {}) {
  const server = await startProxy({ tls, ...options });
  opened.push(server);
  const given: OutboundProxy = {
    protocol: options.protocol,
    host: 'proxy.test',
    port: server.port,
    label: 'Amsterdam',
    ...more,
  };
  return { server, route: outbound.through(given) };
}
const asks = (protocol: (typeof PROTOCOLS)[number], port: number) =>
  protocol === 'socks5' ? `1 127.0.0.1 ${port}` : `CONNECT 127.0.0.1:${port}`;
const failed = (promise: Promise<unknown>): Promise<OutboundError> =>
  promise.then(
    () => expect('an answer').toBe('an error'),
    (error: unknown) => error,
  ) as Promise<OutboundError>;
/** An answer that has begun within its time: a machine that is slow at it is given more. */
async function begun<T>(ask: (timeoutMs: number) => Promise<T>, timeoutMs = 500): Promise<T> {
  return ask(timeoutMs).catch((error: OutboundError) => {
    if (error.failure !== 'timeout' || timeoutMs > 10_000) throw error;
    return begun(ask, timeoutMs * 3);
  });
}
const hook = () => `https://hook.test:${receiver.port}/a?b=c`;

describe.each(PROTOCOLS)('outbound requests over a %s proxy', (protocol) => {
  test('come from the proxy, with name, certificate and encryption of the provider', async () => {
    const { server, route } = await proxy({ protocol, login }, login);
    const answer = await route.fetch(hook(), { method: 'POST', body: 'hello', headers: { 'x-a': '1' } });
    expect([answer.status, answer.text(), from]).toEqual([200, 'ok', ['127.0.0.2']]);
    expect(
      receiver.ledger.map(({ path, headers, body }) => [path, headers.host, headers['x-a'], String(body)]),
    ).toEqual([['/a?b=c', `hook.test:${receiver.port}`, '1', 'hello']]);
    expect(server.asked).toEqual([asks(protocol, receiver.port)]);
  });

  test('without encryption take the proxy too', async () => {
    const { server, route } = await proxy({ protocol });
    for (let n = 0; n < 3; n++) await route.fetch(`${plain.url}/${n}`);
    expect([from, [...new Set(server.asked)]]).toEqual([Array(3).fill('127.0.0.2'), [asks(protocol, plain.port)]]);
  });

  test('return a large answer whole, also as a stream', async () => {
    const { route } = await proxy({ protocol });
    receiver.answer = (response) => void response.writeHead(200).end(Buffer.alloc(3_000_000, 'x'));
    const { body } = await route.stream(hook(), { maxBytes: 3_000_000 });
    let bytes = 0;
    for await (const piece of body) bytes += piece.length;
    expect([bytes, (await route.fetch(hook(), { maxBytes: 3_000_000 })).body.length]).toEqual([3_000_000, 3_000_000]);
  });

  test('open a websocket over the proxy', async () => {
    const { server, route } = await proxy({ protocol });
    await using sockets = await startWebSocketServer({ onText: (peer, text) => peer.send(text.toUpperCase()) });
    const socket = route.webSocket(sockets.url);
    await once(socket, 'open');
    socket.send('hello');
    const [{ data }] = (await once(socket, 'message')) as [MessageEvent];
    socket.close();
    expect([data, server.asked]).toEqual(['HELLO', [asks(protocol, Number(new URL(sockets.url).port))]]);
  });

  test.each([
    ['another password', { ...login, password: 'another-one' }],
    ['none', {}],
  ])('report a proxy login with %s as refused, and nothing is sent', async (_, given) => {
    const { server, route } = await proxy({ protocol, login }, given);
    const error = await failed(route.fetch(hook(), { method: 'POST', body: 'x' }));
    expect(error).toMatchObject({ failure: 'unreachable', sent: false, proxy: 'login' });
    expect(error.message).toContain('the route “Amsterdam”');
    expect(error.message + String(error.cause)).not.toContain('another-one');
    expect([server.accepted, receiver.ledger]).toEqual([1, []]);
  });

  test('report the reason of a refusal', async () => {
    const replies =
      protocol === 'socks5'
        ? { forbidden: [2], target: [1, 3, 4, 5, 6, 7, 8, 99] }
        : { forbidden: [403], target: [400, 502, 503, 504] };
    for (const [fault, codes] of Object.entries(replies))
      for (const refuses of codes) {
        const { route } = await proxy({ protocol, refuses });
        expect(await failed(route.fetch(hook()))).toMatchObject({ failure: 'unreachable', sent: false, proxy: fault });
      }
  });

  test('are not sent when the proxy is away, hangs up or is none, and never go direct', async () => {
    const before = receiver.connections;
    const { server, route } = await proxy({ protocol });
    server.breaks();
    expect(await failed(route.fetch(hook()))).toMatchObject({ failure: 'unreachable', sent: false, proxy: 'down' });
    const { route: nonsense } = await proxy({ protocol, says: 'nonsense' });
    expect(await failed(nonsense.fetch(hook()))).toMatchObject({ failure: 'unreachable', sent: false, proxy: 'down' });
    await server[Symbol.asyncDispose]();
    opened.splice(opened.indexOf(server), 1);
    expect(await failed(route.fetch(hook()))).toMatchObject({ failure: 'unreachable', sent: false, proxy: 'down' });
    expect(receiver.connections).toBe(before);
  });

  test('check addresses before the proxy: it is never asked for private, mixed or redirected ones', async () => {
    const { server, route } = await proxy({ protocol });
    names['mixed.test'] = ['8.8.8.8', '10.0.0.1'];
    names['inside.test'] = ['169.254.169.254'];
    for (const url of [
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://2130706434/',
      'https://mixed.test/',
      'https://inside.test/',
      'http://8.8.8.8/',
    ])
      expect([url, (await failed(route.fetch(url))).failure]).toEqual([url, 'blocked']);
    receiver.answer = (response) =>
      void response.writeHead(302, { location: 'https://inside.test/latest/meta-data' }).end();
    expect((await failed(route.fetch(hook()))).failure).toBe('blocked');
    expect(server.asked).toEqual([asks(protocol, receiver.port)]);
  });

  test('ask the proxy for an address of the other family as it is', async () => {
    const { server, route } = await proxy({ protocol, refuses: protocol === 'socks5' ? 4 : 502 });
    names['six.test'] = ['2606:4700:4700::1111'];
    await failed(route.fetch('https://six.test/'));
    expect(server.asked).toEqual([
      protocol === 'socks5' ? '4 2606:4700:4700:0000:0000:0000:0000:1111 443' : 'CONNECT [2606:4700:4700::1111]:443',
    ]);
  });

  test('try every address of a name, but only once a proxy that fails itself', async () => {
    names['many.test'] = ['1.1.1.1', '1.0.0.1', '8.8.8.8'];
    const { server, route } = await proxy({ protocol, refuses: protocol === 'socks5' ? 5 : 502 });
    await failed(route.fetch('https://many.test/'));
    const { server: closed, route: without } = await proxy({ protocol, login });
    await failed(without.fetch('https://many.test/'));
    expect([server.asked.length, closed.accepted]).toEqual([3, 1]);
  });
});

describe.each(PROTOCOLS)('outbound requests over a %s proxy have the guarantees of direct ones', (protocol) => {
  test('sizes are limited, also of decompressed answers', async () => {
    const { route } = await proxy({ protocol });
    for (const head of [{}, { 'content-encoding': 'gzip' }]) {
      const body = Buffer.alloc(2_000_000, 'x');
      receiver.answer = (response) =>
        void response.writeHead(200, head).end('content-encoding' in head ? gzipSync(body) : body);
      expect((await failed(route.fetch(hook(), { maxBytes: 1_999_999 }))).failure).toBe('too_large');
      expect((await route.fetch(hook(), { maxBytes: 2_000_000 })).body.length).toBe(2_000_000);
    }
    receiver.answer = (response) => {
      const more = () => void (response.destroyed || response.write(Buffer.alloc(100_000), more));
      more();
    };
    expect((await failed(route.fetch(hook(), { maxBytes: 1_000_000 }))).failure).toBe('too_large');
  });

  test('times are limited, for head and body', async () => {
    const { route } = await proxy({ protocol });
    receiver.answer = () => {};
    expect(await failed(route.fetch(hook(), { timeoutMs: 200 }))).toMatchObject({ failure: 'timeout', sent: true });
    receiver.answer = (response) => {
      const timer = setInterval(() => response.write('.'), 10);
      response.once('close', () => clearInterval(timer));
    };
    expect((await failed(route.fetch(hook(), { timeoutMs: 500 }))).failure).toBe('timeout');
    const { body } = await begun((timeoutMs) => route.stream(hook(), { timeoutMs }));
    await expect(buffer(body)).rejects.toMatchObject({ failure: 'timeout' });
  });

  test('credentials stay with their origin, and the proxy login with the proxy', async () => {
    names['other.test'] = ['127.0.0.1'];
    const { server, route } = await proxy({ protocol, login }, login);
    receiver.answer = (response, { path }) =>
      void (path.startsWith('/a')
        ? response.writeHead(302, { location: `https://other.test:${receiver.port}/b` }).end()
        : response.end('there'));
    const answer = await route.fetch(hook(), { headers: { authorization: 'Bearer x', cookie: 'a=b' } });
    const [first, second] = receiver.ledger.map(({ headers }) => headers);
    expect([answer.text(), first!.authorization, second!.authorization, second!.cookie]).toEqual([
      'there',
      'Bearer x',
      undefined,
      undefined,
    ]);
    expect(
      receiver.ledger.flatMap(({ headers }) => Object.keys(headers)).filter((name) => name.startsWith('proxy')),
    ).toEqual([]);
    expect(new Set(server.asked)).toEqual(new Set([asks(protocol, receiver.port)]));
  });

  test('a kept connection is not used for a name that now resolves elsewhere', async () => {
    const { server, route } = await proxy({ protocol });
    for (const _ of [1, 2, 3]) await route.fetch(hook());
    const connections = server.asked.length;
    expect(connections).toBeLessThan(3);
    names['hook.test'] = ['10.0.0.1'];
    expect((await failed(route.fetch(hook()))).failure).toBe('blocked');
    expect([server.asked.length, receiver.ledger.length]).toEqual([connections, 3]);
  });

  test('an answer of the proxy in place of the provider is refused', async () => {
    const { route } = await proxy({ protocol, says: 'injects' });
    expect(await failed(route.fetch(hook(), { method: 'POST', body: 'secret' }))).toMatchObject({
      failure: 'unreachable',
      sent: false,
    });
    expect(receiver.ledger).toEqual([]);
  });

  test('a proxy with an endless answer is dropped', async () => {
    const { route } = await proxy({ protocol, says: 'flood' });
    const error = await failed(route.fetch(hook()));
    expect(error).toMatchObject({ failure: 'unreachable', sent: false });
    expect(receiver.ledger).toEqual([]);
  });
});

describe('the address of a proxy', () => {
  test.each(['10.0.0.1', '169.254.169.254', '::1', '[::1]', '0.0.0.0', 'inside.test', 'mixed.test'])(
    '%s is blocked as a proxy',
    async (host) => {
      names['inside.test'] = ['192.168.1.1'];
      names['mixed.test'] = ['8.8.8.8', '127.0.0.2'];
      const route = outbound.through({ protocol: 'socks5', host, port: 1080, label: 'x' });
      expect(await failed(route.fetch(hook()))).toMatchObject({
        failure: 'unreachable',
        proxy: 'blocked',
        sent: false,
      });
    },
  );

  test('a private proxy is used where the operator lists it for its owner, at that port and for nothing else', async () => {
    const ORG = newId();
    const server = await startProxy({ protocol: 'socks5', from: '127.0.0.1' });
    opened.push(server);
    await using strict = openOutbound({
      timeoutMs: 30_000,
      allowedPrivateCidrs: [],
      resolver,
      sidecars: [`127.0.0.1:${server.port}`, `side.test:${server.port}`, `${ORG}@own.test:${server.port}`],
    });
    names['side.test'] = names['own.test'] = ['127.0.0.1'];
    names['far.test'] = ['8.8.8.8'];
    const over = (host: string, port = server.port, owner: string | null = null) =>
      strict.through({ protocol: 'socks5', host, port, label: 'x', owner });
    server.breaks();
    for (const host of ['127.0.0.1', 'side.test', 'SIDE.test'])
      expect((await failed(over(host).fetch('https://far.test/'))).proxy).toBe('down');
    expect(server.accepted).toBe(3);
    for (const owner of [ORG, 'another organization']) {
      expect((await failed(over('127.0.0.1', server.port, owner).fetch('https://far.test/'))).proxy).toBe('blocked');
    }
    expect((await failed(over('own.test', server.port, ORG).fetch('https://far.test/'))).proxy).toBe('down');
    for (const owner of [null, 'another organization'])
      expect((await failed(over('own.test', server.port, owner).fetch('https://far.test/'))).proxy).toBe('blocked');
    expect(
      (
        await failed(
          strict
            .through({ protocol: 'socks5', host: '127.0.0.1', port: server.port, label: 'x' })
            .fetch('https://far.test/'),
        )
      ).proxy,
    ).toBe('blocked');
    expect((await failed(over('proxy.test').fetch('https://far.test/'))).proxy).toBe('blocked');
    expect((await failed(over('127.0.0.1', receiver.port).fetch('https://far.test/'))).proxy).toBe('blocked');
    expect((await failed(over('127.0.0.1').fetch(hook()))).failure).toBe('blocked');
    expect((await failed(strict.fetch(`https://127.0.0.1:${server.port}/`))).failure).toBe('blocked');
    expect(server.accepted).toBe(4);
  });

  test('an https proxy must present a valid certificate for its name', async () => {
    const server = await startProxy({ protocol: 'https', tls });
    opened.push(server);
    names['wrong.test'] = ['127.0.0.1'];
    const route = outbound.through({ protocol: 'https', host: 'wrong.test', port: server.port, label: 'x' });
    expect(await failed(route.fetch(hook()))).toMatchObject({ failure: 'unreachable', proxy: 'certificate' });
  });

  test('a proxy that never answers is given up before the call is', async () => {
    const { port } = (await proxy({ protocol: 'socks5', says: 'nothing' })).server;
    await using brief = openOutbound({
      timeoutMs: 30_000,
      handshakeMs: 300,
      allowedPrivateCidrs: ['127.0.0.1/32'],
      resolver,
      authorities: [tls.cert],
    });
    const route = brief.through({ protocol: 'socks5', host: 'proxy.test', port, label: 'Amsterdam' });
    expect(await failed(route.fetch(hook()))).toMatchObject({ failure: 'unreachable', proxy: 'down', sent: false });
  });

  test('a login longer than SOCKS5 allows is not sent, nor a part of it', async () => {
    for (const given of [
      { username: 'ü'.repeat(128), password: 'p' },
      { username: 'ann', password: '€'.repeat(86) },
    ]) {
      const { server, route } = await proxy({ protocol: 'socks5', login }, given);
      const error = await failed(route.fetch(hook(), { method: 'POST', body: 'x' }));
      expect(error).toMatchObject({
        failure: 'unreachable',
        sent: false,
        proxy: 'login',
        message: expect.stringContaining('255 bytes'),
      });
      expect(server.asked).toEqual([]);
    }
  });

  test('the same proxy shares one route, another login gets another', () => {
    const given: OutboundProxy = { protocol: 'socks5', host: 'proxy.test', port: 1080, label: 'x', ...login };
    expect(outbound.through({ ...given })).toBe(outbound.through(given));
    expect(outbound.through({ ...given, password: 'other' })).not.toBe(outbound.through(given));
  });
});

const real = { username: 'ann', password: 'a-long-password' };
for (const [name, protocol, find, address] of [
  ['microsocks', 'socks5', microsocks, '127.0.0.2'],
  ['tinyproxy', 'http', tinyproxy, '127.0.0.3'],
] as const)
  await describePeer(
    name,
    () => find(real),
    ({ start }) => {
      test('accepts our login and addresses, and the target sees the address of the proxy', async () => {
        await using peer = await start();
        const given: OutboundProxy = {
          protocol,
          host: '127.0.0.1',
          port: Number(peer.env['port']),
          label: name,
          ...real,
        };
        const route = outbound.through(given);
        await route.fetch(hook(), { method: 'POST', body: 'hello' });
        await route.fetch(`${plain.url}/plain`);
        expect(from).toEqual([address, address]);
        expect(receiver.ledger.map(({ headers, body }) => [headers.host, String(body)])).toEqual([
          [`hook.test:${receiver.port}`, 'hello'],
        ]);
        expect(await failed(outbound.through({ ...given, password: 'wrong-password' }).fetch(hook()))).toMatchObject({
          proxy: 'login',
          sent: false,
        });
        expect((await failed(route.fetch('https://10.0.0.1/'))).failure).toBe('blocked');
        await peer.stop();
        expect(await failed(outbound.through({ ...given, label: 'away' }).fetch(hook()))).toMatchObject({
          proxy: 'down',
          sent: false,
        });
      });
    },
  );
