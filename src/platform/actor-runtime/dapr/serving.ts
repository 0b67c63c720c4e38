import type { IncomingMessage } from 'node:http';
import { AppError } from '../../kernel/index.ts';
import type { Tracing } from '../../telemetry/index.ts';
import type { Host, RuntimeLog } from '../host.ts';
import type { Subscriptions } from './bus.ts';

export interface ServerOptions {
  host: Host;
  subscriptions: Subscriptions;
  port: number;
  /** What daprd must send with every request but the health probe (`APP_API_TOKEN`); unset, nothing is checked. */
  token: string | undefined;
  /** What a process of this instance sends with each call of a method. */
  callerToken: string;
  log: RuntimeLog;
  tracing?: Tracing | undefined;
  idleMs: number;
  drainMs: number;
  now(): number;
}

/** A server, and what it has been asked so far. */
export interface Serving extends ServerOptions {
  /** The bytes of `callerToken`. */
  readonly caller: Buffer;
  /** The answer to `/dapr/config`. */
  readonly config: string;
  /** Texts behind the digests that came by: a deactivation brings the digest alone. */
  readonly digests: Map<string, string>;
  healthy: boolean;
  lastAsked: number;
  lastProbed: number;
}

export interface ServerReply {
  status: number;
  body?: string;
  isError?: boolean;
}

const MAX_BODY = 16 * 1024 * 1024;

/**
 * Reads a body by events: iterating over the stream costs several times as much, and ten thousand callbacks may come in a second.
 */
export const receiveBody = (request: IncomingMessage) =>
  new Promise<string>((done, fail) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY) chunks.push(chunk);
      else fail(new AppError('too_large', 'The input of this call is too large'));
    });
    request.on('end', () => done(Buffer.concat(chunks).toString('utf8')));
    request.on('error', fail);
  });
