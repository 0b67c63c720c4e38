import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const plain = (address: string): string => (address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address);

/** The socket's peer; behind `hops` proxies, the entry of `x-forwarded-for` that many from the right. Everything left of it was written by the client. */
export function clientIp(request: IncomingMessage, hops: number): string {
  const peer = plain(request.socket.remoteAddress ?? '');
  if (hops < 1) return peer;
  const forwarded = request.headers['x-forwarded-for'];
  const entries = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
  const entry = entries.at(-hops)?.trim() ?? '';
  return isIP(entry) ? plain(entry) : peer; // fewer entries than proxies: it did not come through them
}
