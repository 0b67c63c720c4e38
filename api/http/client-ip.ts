import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { parseAddress } from '../../src/platform/outbound/index.ts';

const plain = (address: string): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;

/** An entry of `x-forwarded-for` with the port that some proxies write: `203.0.113.9:51234`, `[2001:db8::1]:443`. */
const WITH_PORT = /^(?:\[([0-9a-f:.]{2,45})\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/i;
function withoutPort(entry: string): string {
  const [, inBrackets, bare] = WITH_PORT.exec(entry) ?? [];
  return inBrackets ?? bare ?? entry;
}

/**
 * The socket's peer; behind `hops` proxies, the entry of `x-forwarded-for` that many from the right. Everything left of
 * it was written by the client.
 */
export function clientIp(request: IncomingMessage, hops: number): string {
  const peer = plain(request.socket.remoteAddress ?? '');
  if (hops < 1) return peer;
  const forwarded = request.headers['x-forwarded-for'];
  const entries = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
  const entry = withoutPort(entries.at(-hops)?.trim() ?? '');
  return isIP(entry) ? plain(entry) : peer; // fewer entries than proxies: it did not come through them
}

/**
 * The network that a limit by address counts: an IPv4 address, or the /64 network of an IPv6 one, since one subscriber
 * has all of it.
 */
export function networkOf(ip: string): string {
  const address = parseAddress(ip);
  return address?.family === 6 ? `${(address.value >> 64n).toString(16)}::/64` : ip;
}

/** The /48 network of an IPv6 address, which one customer of a provider may have whole; undefined for IPv4. */
export function siteOf(ip: string): string | undefined {
  const address = parseAddress(ip);
  return address?.family === 6 ? `${(address.value >> 80n).toString(16)}::/48` : undefined;
}
