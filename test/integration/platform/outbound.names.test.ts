import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openOutbound, type Outbound, type OutboundError } from '../../../src/platform/outbound/index.ts';
import type { Connector } from '../../../src/platform/outbound/pools.ts';
import { systemResolver } from '../../../src/platform/outbound/resolver.ts';
import { startDnsServer, type Zone } from '../../support/wire/dns-server.ts';

// The real resolver against a name server of this test. Beneath the guard every connection is refused and noted, so
// that nothing can leave.

const zone: Zone = {};
const beyond: string[] = [];
const connector: Connector = (options, callback) => {
  beyond.push(options.hostname);
  callback(new Error('refused by the test'), null);
};
const stack = new AsyncDisposableStack();
let server: Awaited<ReturnType<typeof startDnsServer>>;
let outbound: Outbound;
beforeAll(async () => {
  server = stack.use(await startDnsServer(zone));
  const resolver = systemResolver([server.address]);
  outbound = stack.use(openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['10.9.0.0/16'], resolver, connector }));
});
afterAll(() => stack.disposeAsync());
beforeEach(() => {
  for (const name of Object.keys(zone)) delete zone[name];
  beyond.length = server.asked.length = 0;
});
/** What was asked for; a question whose answer took long is asked again. */
const asked = () => [...new Set(server.asked)].toSorted();
const failed = async (url: string) => (await outbound.fetch(url).catch((error: unknown) => error)) as OutboundError;

describe('check of DNS answers', () => {
  test.each<[string, Zone]>([
    ['a private address', { 'n.example': ['10.0.0.1'] }],
    ['one private address among many', { 'n.example': ['1.1.1.1', '8.8.8.8', '192.168.1.1', '9.9.9.9'] }],
    ['a private AAAA beside a public A', { 'n.example': ['1.1.1.1', 'fd00::1'] }],
    ['a private A beside a public AAAA', { 'n.example': ['127.0.0.1', '2606:4700::1111'] }],
    ['an IPv4 address within an IPv6 one', { 'n.example': ['::ffff:169.254.169.254'] }],
    ['an address behind NAT64', { 'n.example': ['64:ff9b::7f00:1'] }],
    [
      'another name that leads to a private address',
      { 'n.example': ['m.example'], 'm.example': ['o.example'], 'o.example': ['172.16.0.1'] },
    ],
    ['another name whose AAAA alone is private', { 'n.example': ['m.example'], 'm.example': ['1.1.1.1', '::1'] }],
    ['a neighbour of an opened range', { 'n.example': ['10.10.0.1'] }],
    ['an opened address beside public and refused ones', { 'n.example': ['10.9.0.1', '1.1.1.1', '10.10.0.1'] }],
  ])('%s: blocked without a call [OB3] [OB4] [OB9]', async (_, given) => {
    Object.assign(zone, given);
    expect((await failed('https://n.example/')).message).toBe('Blocked URL');
    expect([beyond, asked()]).toEqual([[], ['n.example A', 'n.example AAAA']]);
  });

  test('public addresses of both families are called, also behind a CNAME', async () => {
    Object.assign(zone, { 'n.example': ['m.example'], 'm.example': ['2606:4700::1111', '1.1.1.1', '8.8.8.8'] });
    expect((await failed('https://n.example/')).failure).toBe('unreachable');
    expect(beyond.toSorted()).toEqual(['1.1.1.1', '2606:4700::1111', '8.8.8.8']);
  });

  test('each request resolves anew, and connects to the address that was checked [X3]', async () => {
    zone['turn.example'] = ['1.1.1.1'];
    expect((await failed('https://turn.example/')).failure).toBe('unreachable');
    zone['turn.example'] = ['127.0.0.1'];
    expect((await failed('https://turn.example/')).message).toBe('Blocked URL');
    expect(beyond).toEqual(['1.1.1.1']);
  });
});

describe('a name server without an answer', () => {
  test('fails its name without a second wait for the system resolver', async () => {
    zone['slow.example'] = 'silence';
    zone['broken.example'] = { error: 2 };
    const [slow, broken] = await Promise.all([failed('https://slow.example/'), failed('https://broken.example/')]);
    expect(
      [slow, broken].map(({ failure, sent, cause }) => [failure, sent, (cause as { code?: string }).code]),
    ).toEqual([
      ['unreachable', false, 'ETIMEOUT'],
      ['unreachable', false, 'ESERVFAIL'],
    ]);
    expect(beyond).toEqual([]);
  }, 30_000);

  test('delays no other name', async () => {
    zone['slow.example'] = 'silence';
    zone['good.example'] = ['1.1.1.1'];
    const order: string[] = [];
    const note = (name: string) => failed(`https://${name}/`).then(() => order.push(name));
    const slow = Array.from({ length: 20 }, () => note('slow.example'));
    await note('good.example');
    expect(order).toEqual(['good.example']);
    zone['slow.example'] = ['1.1.1.1']; // heard when it is asked again
    await Promise.all(slow);
  }, 30_000);
});

test('local names are resolved by the system', async () => {
  expect(await systemResolver([server.address])('localhost')).toContain('127.0.0.1');
  expect(server.asked).toEqual([]);
});
