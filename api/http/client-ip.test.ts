import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { clientIp } from './client-ip.ts';

const PROXY = '10.0.0.1';
const ipBehind = (forwarded: string | undefined, hops = 1) =>
  clientIp(
    { socket: { remoteAddress: PROXY }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage,
    hops,
  );

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:51234', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['[::ffff:203.0.113.9]:443', '203.0.113.9'],
  ['198.51.100.7:1, 203.0.113.9:51234', '203.0.113.9'],
])('the address of a client that a proxy wrote as %s is %s [RL9]', (forwarded, ip) => {
  expect(ipBehind(forwarded)).toBe(ip);
});

test.each([undefined, '', 'unknown', '203.0.113.999:80', '203.0.113.9:', '203.0.113.9:x', '[203.0.113.9', '[]:80'])(
  'an entry that is no address (%s) counts for the proxy itself',
  (forwarded) => {
    expect(ipBehind(forwarded)).toBe(PROXY);
  },
);

test('the entry counts that so many proxies have written, and none without a proxy', () => {
  expect(ipBehind('198.51.100.7:1, 203.0.113.9:2', 2)).toBe('198.51.100.7');
  expect(ipBehind('203.0.113.9:2', 2)).toBe(PROXY);
  expect(ipBehind('203.0.113.9:2', 0)).toBe(PROXY);
});
