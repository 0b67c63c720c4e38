import { type IncomingMessage, request as requestOf } from 'node:http';
import type { EventEmitter } from 'node:events';
import { type Beneath, pinnedConnector } from './pools.ts';
import type { Guard } from './guard.ts';

/** A request whose every header the caller decides. */
interface BareRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | null;
  /** Emits `abort` when nobody waits for the answer any more. */
  signal: EventEmitter;
}

/**
 * Sends Host, Content-Length and the given headers, and nothing else, over a connection of its own to one judged
 * address: the pools of the usual client write `Connection` into every request.
 */
export function sendBare(
  { guard, beneath }: { guard: Guard; beneath: Beneath },
  url: URL,
  address: string,
  { method, headers, body, signal }: BareRequest,
): Promise<{ statusCode: number; headers: IncomingMessage['headers']; body: IncomingMessage }> {
  const connect = pinnedConnector(guard, url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''), address, beneath);
  const { host, hostname, protocol, port } = url;
  return new Promise((resolve, reject) => {
    const sent = requestOf({
      method,
      path: url.pathname + url.search,
      setHost: false,
      headers: { Host: host, ...headers, 'Content-Length': Buffer.byteLength(body ?? '') },
      createConnection(_, done) {
        connect({ protocol, host, hostname, port }, (error, socket) => done(error, socket!)); // one of the two
        return undefined;
      },
    });
    sent.removeHeader('Connection');
    const stop = () => sent.destroy(new Error('The request has ended'));
    signal.once('abort', stop);
    sent.once('close', () => signal.removeListener('abort', stop));
    sent.on('error', reject); // stays: what breaks later must not end the process
    sent.once('response', (answer) =>
      resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: answer }),
    );
    sent.end(body ?? undefined);
  });
}
