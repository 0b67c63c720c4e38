import type { Cache } from '../../src/platform/cache/index.ts';
import { AppError, newId, notFound, randomBase62 } from '../../src/platform/kernel/index.ts';
import type { Principal, Reply } from '../http/route.ts';
import type { ServerEvent } from '../http/server-events.ts';
import { refusalOfMessage } from './answer.ts';
import { callerOf, type SurfaceCall } from './caller.ts';
import { type Messages, messagesOf } from './message.ts';
import { openRelay } from './relay.ts';
import { authInfoOf, openServer } from './server.ts';
import { type Deliver, openStreamTransport } from './transport.ts';

/** Legacy streams of one organization in one process. */
const MOST_OF_ORG = 100;
/** Proxies close a connection that is silent for long. */
const COMMENT_MS = 15_000;

/** A message that goes to the process that has its stream, with who sent it and by which request. */
export interface Sent {
  sessionId: string;
  principal: Principal;
  requestId: string;
  ip: string;
  body: Messages;
}
interface Stream {
  principal: Principal;
  /** The call that opened it. */
  call: SurfaceCall;
  write: (event: ServerEvent) => void;
  deliver: Deliver;
}

/** The streams of legacy clients (S198): each lives in one process, and its messages may come to any. */
export interface Streams {
  /**
   * The events of a stream until one of the signals: the first says where messages go. Throws `rate_limited` for too many
   * of an organization.
   */
  open(call: SurfaceCall, ends: AbortSignal, endpoint: (sessionId: string) => string): AsyncGenerator<ServerEvent>;
  /** Takes a message for a stream of this or another process. Throws `not_found` where there is none of this caller. */
  send(sent: Sent): Promise<void>;
}

const isSame = (a: Principal, b: Principal): boolean =>
  a.userId === b.userId && a.orgId === b.orgId && a.apiKeyId === b.apiKeyId && a.authorizationId === b.authorizationId;
const gone = () => notFound('There is no such stream: open one first');
/** A message is answered when it is taken: what a tool says of the answer beside its result goes nowhere. */
const NO_REPLY: Reply = { cookie: () => {}, header: () => {}, status: () => {} };

function openStreams(cache: Cache, commentMs = COMMENT_MS): Streams {
  const streams = new Map<string, Stream>();
  const owner = newId();

  async function deliverTo({ call, deliver, write }: Stream, { principal, requestId, ip, body }: Sent): Promise<void> {
    const request = { ...call.request, id: requestId, ip };
    const caller = await callerOf('mcp', { ...call, principal, request, reply: NO_REPLY });
    const authInfo = authInfoOf(caller);
    for (const message of messagesOf(body)) {
      const refusal = refusalOfMessage(caller, message);
      if (!refusal) deliver(message as never, { authInfo }); // its form is judged by the server
      else if (message.id != null)
        write({ event: 'message', data: { jsonrpc: '2.0', id: message.id, error: refusal.error } });
    }
  }
  /** True when the stream is here and its caller's own. */
  async function take(sent: Sent): Promise<boolean> {
    const stream = streams.get(sent.sessionId);
    if (!stream || !isSame(stream.principal, sent.principal)) return false;
    await deliverTo(stream, sent);
    return true;
  }
  const relay = openRelay<Sent>(cache, owner, take);

  return {
    async *open(call, ends, endpoint) {
      const { principal } = call;
      const { orgId } = principal;
      if ([...streams.values()].filter((stream) => stream.principal.orgId === orgId).length >= MOST_OF_ORG)
        throw new AppError('rate_limited', `At most ${MOST_OF_ORG} streams of an organization are possible at a time`, {
          retryAfterMs: commentMs,
        });
      const sessionId = `${owner}.${randomBase62(24)}`;
      let waiting: ServerEvent[] = [];
      let arrived = Promise.withResolvers<void>();
      const wake = () => arrived.resolve();
      const write = (event: ServerEvent) => {
        waiting.push(event);
        wake();
      };
      const { transport, deliver } = openStreamTransport(sessionId, write);
      const server = openServer('mcp', call.rooms.config.version);
      const using = await relay.join();
      await server.connect(transport);
      streams.set(sessionId, { principal, call, write, deliver });
      const comments = setInterval(() => write({ comment: 'still here' }), commentMs);
      ends.addEventListener('abort', wake, { once: true });
      try {
        yield { event: 'endpoint', line: endpoint(sessionId) };
        while (!ends.aborted) {
          await arrived.promise;
          arrived = Promise.withResolvers();
          const events = waiting;
          waiting = [];
          yield* events;
        }
      } finally {
        clearInterval(comments);
        ends.removeEventListener('abort', wake);
        streams.delete(sessionId);
        void Promise.allSettled([server.close(), using.leave()]);
      }
    },

    async send(sent) {
      const [at = ''] = sent.sessionId.split('.');
      if (!(at === owner ? await take(sent) : await relay.send(at, sent))) throw gone();
    },
  };
}

const known = new WeakMap<Cache, Streams>();
/** The streams of this process. */
export function streamsOf(cache: Cache): Streams {
  const streams = known.get(cache) ?? openStreams(cache);
  known.set(cache, streams);
  return streams;
}
