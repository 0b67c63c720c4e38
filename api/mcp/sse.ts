import { AppError } from '../../src/platform/kernel/index.ts';
import type { ServerEvent } from '../http/server-events.ts';
import { callerOf, checkMessage, type SurfaceCall } from './caller.ts';
import { findRepeatedId, type Messages, messagesOf } from './message.ts';
import { streamsOf } from './streams.ts';

/** Refuses a caller who may not open a stream. */
export const checkStream = async (call: SurfaceCall): Promise<void> =>
  checkMessage(await callerOf('mcp', call), { jsonrpc: '2.0' });

/**
 * The events of the stream of a legacy client; the first one names the address of its messages, below the same path.
 * `gone`: the client is.
 */
export async function* streamEvents(call: SurfaceCall, gone: AbortSignal): AsyncGenerator<ServerEvent> {
  const { request, rooms } = call;
  await checkStream(call);
  const [path = ''] = request.url.split('?');
  const base = new URL(rooms.config.http.backendUrl).pathname.replace(/\/$/, '');
  const below = base !== '' && !path.startsWith(`${base}/`) ? base : ''; // a proxy may have taken it away
  const endpoint = `${below}${path.replace(/\/sse\/([^/]+)\/?$/, '/message/$1')}`;
  const ends = AbortSignal.any([gone, request.ending]);
  yield* streamsOf(rooms.cache).open(call, ends, (sessionId) => `${endpoint}?sessionId=${sessionId}`);
}

/** Hands messages to the stream of their caller, in whatever process it is. */
export async function sendToStream(call: SurfaceCall, sessionId: string, body: Messages): Promise<void> {
  if (findRepeatedId(messagesOf(body)) !== undefined)
    throw new AppError('invalid_request', 'Two requests have the same id');
  const { principal, request, rooms } = call;
  await streamsOf(rooms.cache).send({ sessionId, principal, requestId: request.id, ip: request.ip, body });
}
