import { brotliCompressSync, constants, createZstdCompress, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openOutbound, type OutboundError, type OutboundRequest } from '../../../src/platform/outbound/index.ts';
import { type Connector, socketConnector } from '../../../src/platform/outbound/pools.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { startWebSocketServer } from '../../support/wire/websocket-server.ts';

/**
 * What lies beneath the guard here: lets loopback pass, and refuses and records all else, so that nothing can leave.
 */
const beyond: string[] = [];
const beneath = (authorities: string[]): Connector => {
  const real = socketConnector(authorities);
  return (options, callback) => {
    if (options.hostname === '127.0.0.1' || options.hostname === '::1') return real(options, callback);
    beyond.push(options.hostname);
    callback(new Error('refused by the test'), null);
  };
};

const tls = makeCertificate(['hook.test', 'other.test', 'turn.test', 'rebind.test']);
const receiver = await startReceiver({ tls });
const names: Record<string, string[] | (() => string[])> = {};
const resolver = async (name: string) => {
  const answer = names[name];
  if (!answer) throw new Error(`ENOTFOUND ${name}`);
  return typeof answer === 'function' ? answer() : answer;
};
const strict = openOutbound({ timeoutMs: 30_000, allowedPrivateCidrs: [], resolver, connector: beneath([tls.cert]) });
const local = openOutbound({
  timeoutMs: 30_000,
  allowedPrivateCidrs: ['127.0.0.1/32'],
  resolver,
  connector: beneath([tls.cert]),
});
afterAll(async () => {
  await Promise.all([strict, local, receiver].map((one) => one[Symbol.asyncDispose]()));
});
beforeEach(() => {
  beyond.length = 0;
  receiver.ledger.length = 0;
  receiver.answer = (response) => void response.writeHead(200).end('ok');
  for (const name of Object.keys(names)) delete names[name];
  names['hook.test'] = ['127.0.0.1'];
  names['other.test'] = ['127.0.0.1'];
});
const at = (path: string, name = 'hook.test') => `https://${name}:${receiver.port}${path}`;
const failed = async (promise: Promise<unknown>): Promise<OutboundError> =>
  promise.then(
    () => expect(undefined).toBe('an error'),
    (error: unknown) => error,
  ) as Promise<OutboundError>;

// Every special range by its edges and middle, and every way to write it.
const V4 = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.0',
  '10.20.30.40',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.0.0.53',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.7',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.255',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.3',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
];
const V6 = [
  '::',
  '::1',
  '100::1',
  '64:ff9b:1::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'ff02::1',
  '4000::1',
  'e000::1',
];
const bytes = (address: string) => address.split('.').map(Number) as [number, number, number, number];
const number = (address: string) => bytes(address).reduce((sum, byte) => sum * 256 + byte, 0);
const groups = (address: string) => {
  const [a, b, c, d] = bytes(address);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};
const spellings = (address: string) => {
  const [a, b, c, d] = bytes(address);
  return [
    address,
    `${address}.`,
    String(number(address)),
    `0x${number(address).toString(16)}`,
    `0${number(address).toString(8)}`,
    `0x${a.toString(16)}.${b}.0${c.toString(8)}.${d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${b * 65_536 + c * 256 + d}`,
    address.replaceAll('.', '。'),
    [...address].map((one) => (one === '.' ? '.' : `%3${one}`)).join(''),
    [...address].map((one) => (one === '.' ? '.' : String.fromCodePoint(0xff10 + Number(one)))).join(''),
  ];
};
const within6 = (address: string) => [
  `::ffff:${groups(address)}`,
  `::ffff:${address}`,
  `::${groups(address)}`,
  `::ffff:0:${groups(address)}`,
  `64:ff9b::${groups(address)}`,
  `64:ff9b:1::${groups(address)}`,
  `2002:${groups(address)}::1`,
  `2001:0:${groups(address)}::1`,
  `2a00::5efe:${groups(address)}`,
  `2a00::200:5efe:${groups(address)}`,
];

describe('outbound requests to private addresses', () => {
  const literal = [
    ...V4.flatMap(spellings),
    ...V4.flatMap(within6).map((one) => `[${one}]`),
    ...V6.map((one) => `[${one}]`),
  ];

  test(`${literal.length} literal hosts are blocked, each by fetch and by websocket [OB1] [OB3] [OB7]`, async () => {
    expect(literal.length).toBeGreaterThanOrEqual(400);
    for (const host of literal) {
      for (const url of [`https://${host}/`, `https://${host}:6379/`])
        expect([host, (await failed(strict.fetch(url))).message]).toEqual([
          host,
          expect.stringMatching(/^(Blocked URL|This is not a URL)$/),
        ]);
      expect(() => strict.webSocket(`wss://${host}/`)).toThrow(/^(Blocked URL|This is not a URL)$/);
    }
    expect([beyond, receiver.connections]).toEqual([[], 0]);
  });

  test('private addresses in DNS answers are blocked [OB3] [OB4] [OB7]', async () => {
    const answers = [...V4, ...V4.flatMap(within6), ...V6, 'fe80::1%eth0', 'not an address', '', '127.1', '0x7f000001'];
    for (const [n, address] of answers.entries()) {
      names[`n${n}.test`] = [address];
      names[`m${n}.test`] = ['93.184.215.14', address];
      names[`o${n}.test`] = [address, '2606:4700::1'];
      for (const name of [`n${n}.test`, `m${n}.test`, `o${n}.test`])
        expect([address, (await failed(strict.fetch(`https://${name}/`))).message]).toEqual([address, 'Blocked URL']);
    }
    expect([beyond, receiver.connections]).toEqual([[], 0]);
  });

  test('private addresses behind redirects are blocked [OB5] [X2]', async () => {
    let location = '';
    let status = 302;
    receiver.answer = (response) => void response.writeHead(status, { location }).end();
    for (const target of [
      ...V4.map((one) => (one === '127.0.0.1' ? '127.0.0.2' : one)),
      ...V6.map((one) => `[${one}]`),
      'localhost.evil.test',
      '2130706434',
      '0x7f000002',
    ])
      for (const one of [301, 302, 303, 307, 308]) {
        names['localhost.evil.test'] = ['10.0.0.1'];
        [status, location] = [one, `https://${target}/secret`];
        expect([target, (await failed(local.fetch(at('/start')))).message]).toEqual([target, 'Blocked URL']);
      }
    expect(beyond).toEqual([]);
  });

  test.each([
    'http://93.184.215.14/',
    'ftp://hook.test/',
    'file:///etc/passwd',
    'https://user:pass@hook.test/',
    'https://user@hook.test/',
    '//127.0.0.2/',
  ])('a redirect to %s is refused [OB2] [OB5]', async (location) => {
    receiver.answer = (response) => void response.writeHead(302, { location }).end();
    expect((await failed(local.fetch(at('/start')))).message).toBe('Blocked URL');
    expect([beyond, receiver.ledger.length]).toEqual([[], 1]);
  });

  test('a redirect to plain http is refused, even into an allowed range [OB2]', async () => {
    receiver.answer = (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    expect((await failed(local.fetch(at('/start')))).message).toBe('Blocked URL');
  });
});

describe('outbound requests to public addresses', () => {
  const forms = [
    ...[
      '1.1.1.1',
      '8.8.4.4',
      '93.184.215.14',
      '100.63.255.255',
      '126.255.255.255',
      '172.15.0.1',
      '172.32.0.1',
      '192.0.1.1',
      '198.17.255.255',
      '223.255.255.255',
    ].flatMap((one) => spellings(one)),
    ...['2606:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001:800::200e', '2003::1', '2001:200::1'].map(
      (one) => `[${one}]`,
    ),
  ];

  test(`${forms.length} forms of public addresses are called, by address and by name`, async () => {
    expect(forms.length).toBeGreaterThanOrEqual(100);
    for (const host of forms) {
      beyond.length = 0;
      const error = await failed(strict.fetch(`https://${host}/`));
      expect([host, error.failure, error.sent, beyond.length]).toEqual([host, 'unreachable', false, 1]);
      names['public.test'] = [beyond[0]!];
      expect((await failed(strict.fetch('https://public.test/'))).failure).toBe('unreachable');
      expect(beyond).toEqual([beyond[0], beyond[0]]);
    }
  });

  test('a connection that ends before its address is read is a network failure; one to another address is blocked', async () => {
    const given: { remoteAddress?: string }[] = [{}, { remoteAddress: '10.0.0.1' }];
    const failures = [];
    for (const one of given) {
      const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: one.remoteAddress });
      await using odd = openOutbound({
        timeoutMs: 30_000,
        allowedPrivateCidrs: [],
        connector: (_, callback) => callback(null, socket),
      });
      failures.push((await failed(odd.fetch('https://8.8.8.8/'))).failure);
      expect(socket.destroyed).toBe(true);
    }
    expect(failures).toEqual(['unreachable', 'blocked']);
  });

  test('every address of a name is tried, in order', async () => {
    names['many.test'] = ['93.184.215.14', '2606:4700::1', '1.1.1.1'];
    await failed(strict.fetch('https://many.test/'));
    expect(beyond).toEqual(['93.184.215.14', '2606:4700::1', '1.1.1.1']);
  });

  test('the second address is called when the first cannot be reached', async () => {
    const both = openOutbound({
      timeoutMs: 30_000,
      allowedPrivateCidrs: ['127.0.0.0/8'],
      resolver,
      connector: beneath([tls.cert]),
    });
    names['hook.test'] = ['127.0.0.9', '127.0.0.1'];
    expect((await both.fetch(at('/'))).status).toBe(200);
    expect(beyond).toEqual(['127.0.0.9']);
    await both[Symbol.asyncDispose]();
  });
});

describe('names that change their address', () => {
  test('a name that answers first public and then private gets no connection to the private address [X3] [OB4]', async () => {
    let asked = 0;
    names['rebind.test'] = () => (asked++ === 0 ? ['93.184.215.14'] : ['127.0.0.1']);
    expect((await failed(strict.fetch(`https://rebind.test:${receiver.port}/`))).failure).toBe('unreachable');
    expect([asked, beyond]).toEqual([1, ['93.184.215.14']]);
    expect((await failed(strict.fetch(`https://rebind.test:${receiver.port}/`))).message).toBe('Blocked URL');
    expect(receiver.ledger).toEqual([]);
  });

  test('a kept connection is not used for a name that now resolves elsewhere [OB4]', async () => {
    for (const _ of [1, 2, 3]) expect((await local.fetch(at('/one'))).status).toBe(200);
    names['hook.test'] = ['93.184.215.14'];
    expect((await failed(local.fetch(at('/two')))).failure).toBe('unreachable');
    names['hook.test'] = ['10.0.0.1'];
    expect((await failed(local.fetch(at('/three')))).message).toBe('Blocked URL');
    names['hook.test'] = ['127.0.0.1'];
    expect((await local.fetch(at('/four'))).status).toBe(200);
    expect(receiver.ledger.map(({ path }) => path)).toEqual(['/one', '/one', '/one', '/four']);
    const [last, ...before] = receiver.ledger.map(({ connection }) => connection).toReversed();
    expect(before).toContain(last); // and is used again when it resolves there again
  });

  test('a name that changes between redirects is checked again [OB5]', async () => {
    let asked = 0;
    names['turn.test'] = () => (asked++ === 0 ? ['127.0.0.1'] : ['192.168.0.1']);
    receiver.answer = (response) => void response.writeHead(302, { location: '/next' }).end();
    expect((await failed(local.fetch(at('/', 'turn.test')))).message).toBe('Blocked URL');
    expect([receiver.ledger.length, beyond]).toEqual([1, []]);
  });

  test('the address of a websocket is checked when it connects', async () => {
    names['socket.test'] = ['10.0.0.1'];
    const socket = strict.webSocket('wss://socket.test/');
    await new Promise((resolve) => socket.addEventListener('close', resolve));
    expect(beyond).toEqual([]);
    names['socket.test'] = ['93.184.215.14'];
    const open = strict.webSocket('wss://socket.test/');
    await new Promise((resolve) => open.addEventListener('close', resolve));
    expect(beyond).toEqual(['93.184.215.14']);
  });
});

describe('redirects of outbound requests', () => {
  const hop = (count: number) => {
    receiver.answer = (response, { path }) => {
      const n = Number(path.slice(1));
      if (n < count) response.writeHead(307, { location: `/${n + 1}` }).end();
      else response.writeHead(200).end('there');
    };
  };
  test('five redirects are followed [OB6]', async () => {
    hop(5);
    expect((await local.fetch(at('/0'))).text()).toBe('there');
    expect(receiver.ledger).toHaveLength(6);
  });
  test('a sixth redirect is refused [OB6] [OB8] [X2]', async () => {
    hop(6);
    expect((await failed(local.fetch(at('/0')))).message).toBe('Too many redirects');
    expect(receiver.ledger).toHaveLength(6);
  });
  test('credentials are not sent to another origin, port or name', async () => {
    receiver.answer = (response, { path }) =>
      void (path === '/a'
        ? response.writeHead(302, { location: at('/b', 'other.test') }).end()
        : response.writeHead(200).end());
    await local.fetch(at('/a'), {
      headers: { Authorization: 'Bearer x', Cookie: 'a=b', 'X-Api-Key': 'k', Accept: 'text/plain', 'x-kept': '1' },
      carried: ['X-Kept'],
    });
    const [first, second] = receiver.ledger.map(({ headers }) => headers);
    expect([first!.authorization, first!.cookie, first!['x-api-key']]).toEqual(['Bearer x', 'a=b', 'k']);
    expect([
      second!.authorization,
      second!.cookie,
      second!['x-api-key'],
      second!.accept,
      second!['x-kept'],
      second!.host,
    ]).toEqual([undefined, undefined, undefined, 'text/plain', '1', `other.test:${receiver.port}`]);
  });
  test.each<[OutboundRequest['redirects'], number, number]>([
    ['keep-body', 307, 2],
    ['keep-body', 308, 2],
    ['keep-body', 301, 1],
    ['keep-body', 302, 1],
    ['keep-body', 303, 1],
    ['none', 307, 1],
    ['follow-safe', 302, 1],
    ['follow-safe', 307, 1],
  ])('a POST answered with %s ends in %i after %i requests', async (redirects, status, requests) => {
    receiver.answer = (response, { path }) =>
      void (path === '/a' ? response.writeHead(status, { location: '/b' }).end() : response.writeHead(200).end());
    const answer = await local.fetch(at('/a'), { method: 'POST', body: 'héllo', redirects: redirects! });
    expect([answer.status, receiver.ledger.length]).toEqual([requests === 2 ? 200 : status, requests]);
    for (const { method, body } of receiver.ledger) expect([method, body.toString()]).toEqual(['POST', 'héllo']);
  });
});

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
