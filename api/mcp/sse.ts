import type { PassThrough } from 'node:stream';
import { AppError } from '../../src/platform/kernel/index.ts';
import { callerOf, checkMessage, type SurfaceCall } from './caller.ts';
import { findRepeatedId, type Messages, messagesOf } from './message.ts';
import { streamsOf } from './streams.ts';

/** Opens the stream of a legacy client; its first event names the address of its messages, below the same path. */
export async function openStream(call: SurfaceCall): Promise<PassThrough> {
  const { request, reply, rooms } = call;
  checkMessage(await callerOf('mcp', call), { jsonrpc: '2.0' });
  const [path = ''] = request.url.split('?');
  const base = new URL(rooms.config.http.backendUrl).pathname.replace(/\/$/, '');
  const below = base !== '' && !path.startsWith(`${base}/`) ? base : ''; // a proxy may have taken it away
  const endpoint = `${below}${path.replace(/\/sse\/([^/]+)\/?$/, '/message/$1')}`;
  reply.header('content-type', 'text/event-stream; charset=utf-8');
  reply.header('cache-control', 'no-store');
  reply.header('x-accel-buffering', 'no');
  return streamsOf(rooms.cache).open(call, request.ending, (sessionId) => `${endpoint}?sessionId=${sessionId}`);
}

/** Hands messages to the stream of their caller, in whatever process it is. */
export async function sendToStream(call: SurfaceCall, sessionId: string, body: Messages): Promise<void> {
  if (findRepeatedId(messagesOf(body)) !== undefined)
    throw new AppError('invalid_request', 'Two requests have the same id');
  const { principal, request, rooms } = call;
  await streamsOf(rooms.cache).send({ sessionId, principal, requestId: request.id, ip: request.ip, body });
}
