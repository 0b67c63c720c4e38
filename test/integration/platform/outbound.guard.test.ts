import { Socket } from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openOutbound, type OutboundRequest } from '../../../src/platform/outbound/index.ts';
import { failed, openGuarded } from '../../support/worlds/guarded.ts';

const guarded = await openGuarded();
afterAll(() => guarded[Symbol.asyncDispose]());
beforeEach(guarded.reset);
const { tls, receiver, beyond, beneath, names, resolver, strict, local, at } = guarded;

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
