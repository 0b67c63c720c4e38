import { addAbortListener } from 'node:events';
import { Readable } from 'node:stream';
import { deserialize, serialize } from 'node:v8';
import { type Cache, openStreamSlots, type SlotHolder } from '../../../src/platform/cache/index.ts';
import { AppError, notFound, randomBase62 } from '../../../src/platform/kernel/index.ts';
import type { Principal, Reply } from '../../http/route.ts';
import type { ServerEvent } from '../../http/server-events.ts';
import { callerOf, checkMessage, type McpCaller, refusalOfMessage, type SurfaceCall } from '../../mcp/caller.ts';
import { hasRepeatedId, type Message, type Messages, messagesOf } from '../../mcp/message.ts';
import { answerMessages } from '../../mcp/server.ts';

// The streams of legacy clients (HTTP with SSE, revision 2024-11-05; S198): each lives in one process, and its messages
// may come to any. The cache knows whose a stream is, and takes messages to its process; that of one which was killed
// hears none from then on.

/** Legacy streams of one organization, in all processes. */
const MOST_OF_ORG = 100;
/** Proxies close a connection that is silent for long. */
const COMMENT_MS = 15_000;
/** For so long other processes take a stream to be there whose whole machine is gone. */
const KNOWN_MS = 2 * COMMENT_MS;

/** Messages of a client, with who sent them and by which request. */
interface Sent {
  principal: Principal;
  request: Pick<SurfaceCall['request'], 'id' | 'ip'>;
  body: Messages;
}
interface Stream extends SlotHolder {
  /** The call that opened it. */
  call: SurfaceCall;
  /** Of its newest message, else of that call: tokens are renewed under one approval. */
  principal: Principal;
  /** What the program calls itself, by the handshake. */
  client?: string | undefined;
  write: (event: ServerEvent) => void;
}

const nameOf = (sessionId: string): string => `mcp-stream|${sessionId}`;
/** Messages are taken from the credential that opened the stream. */
const credentialOf = ({ userId, orgId, apiKeyId, authorizationId }: Principal): string =>
  [userId, orgId, apiKeyId, authorizationId].join('|');

/** The streams of this process, by their ids, and their places among those of all processes. */
interface Streams {
  streams: Map<string, Stream>;
  slots: ReturnType<typeof openStreamSlots>;
}
const known = new WeakMap<Cache, Streams>();
function streamsOf(cache: Cache): Streams {
  const found = known.get(cache) ?? {
    streams: new Map<string, Stream>(),
    slots: openStreamSlots(cache, {
      name: 'mcp-stream-slot',
      most: MOST_OF_ORG,
      ttlMs: 3 * COMMENT_MS,
      refusal: `At most ${MOST_OF_ORG} streams of an organization are possible at a time`,
      retryAfterMs: COMMENT_MS,
    }),
  };
  known.set(cache, found);
  return found;
}

/** Says whether the credential by which a stream is used still opens anything. */
async function isAlive({ call: { rooms }, principal: { apiKeyId, tokenId } }: Stream): Promise<boolean> {
  const [holder] =
    apiKeyId === undefined
      ? await rooms.oauth.access.findHolders([tokenId!], 'mcp') // a stream is opened by either
      : await rooms.auth.apiKeys.findHolders([apiKeyId]);
  return holder !== undefined;
}

/** Refuses a caller who may not open a stream. */
export const checkStream = async (call: SurfaceCall): Promise<void> =>
  checkMessage(await callerOf('mcp', call), { jsonrpc: '2.0' });

/**
 * The events of the stream of a legacy client; the first one names the address of its messages, below the same path.
 * `gone`: the client is.
 * It ends soon after its credential, which may not keep a place of the organization.
 * @throws AppError `rate_limited` for too many of an organization
 */
export async function* streamEvents(call: SurfaceCall, gone: AbortSignal): AsyncGenerator<ServerEvent> {
  const { cache } = call.rooms;
  await checkStream(call);
  const { streams, slots } = streamsOf(cache);
  const { orgId } = call.principal;
  const sessionId = randomBase62(32);
  const name = nameOf(sessionId);
  const dead = new AbortController();
  const ends = AbortSignal.any([gone, call.request.ending, dead.signal]);
  const events = new Readable({ objectMode: true, read() {} });
  const write = (event: ServerEvent) => void (ends.aborted || events.push(event)); // nothing follows on the end
  using _ended = addAbortListener(ends, () => events.push(null));
  const { principal } = call;
  const stream: Stream = { id: sessionId, userId: orgId, slot: undefined, call, principal, write }; // a place of its organization
  streams.set(sessionId, stream); // before others are counted
  try {
    await slots.claim(stream, [...streams.values()].filter((one) => one.userId === orgId).length);
  } catch (error) {
    streams.delete(sessionId);
    throw error;
  }
  // what comes to this process needs no cache: it may be away
  const tell = () => cache.set(name, credentialOf(call.principal), KNOWN_MS).catch(() => undefined);
  const comments = setInterval(() => {
    write({ comment: 'still here' });
    slots.renew([stream]);
    void tell();
    void isAlive(stream).then(
      (alive) => void (alive || dead.abort()),
      () => undefined, // the database is away
    );
  }, COMMENT_MS);
  const heard = cache.subscribe(name, (text) => {
    const sent = deserialize(Buffer.from(text, 'base64')) as Sent;
    void deliver(stream, sent).catch(() => undefined); // as a message that was lost
  });
  try {
    await Promise.all([heard, tell()]);
    yield { event: 'endpoint', line: `${endpointOf(call)}?sessionId=${sessionId}` };
    yield* events as AsyncIterable<ServerEvent>;
  } finally {
    clearInterval(comments);
    streams.delete(sessionId);
    slots.release(stream);
    const unheard = heard.then((subscription) => subscription[Symbol.asyncDispose]());
    void Promise.allSettled([unheard, cache.delete(name)]);
  }
}

/** The path of the messages of a stream, as clients reach it. */
function endpointOf({ request, rooms }: SurfaceCall): string {
  const [path = ''] = request.url.split('?');
  const base = new URL(rooms.config.http.backendUrl).pathname.replace(/\/$/, '');
  const below = base !== '' && !path.startsWith(`${base}/`) ? base : ''; // a proxy may have taken it away
  return `${below}${path.replace(/\/sse\/([^/]+)\/?$/, '/message/$1')}`;
}

/** A message is answered when it is taken: what a tool says of the answer beside its result goes nowhere. */
const NO_REPLY: Reply = { cookie: () => {}, header: () => {}, status: () => {} };

/** Answers messages on a stream, each as a request of its own, by what their sender may do now. */
async function deliver(stream: Stream, { principal, request: by, body }: Sent): Promise<void> {
  const { call } = stream;
  stream.principal = principal;
  const request = { ...call.request, headers: {}, ...by }; // those of the stream say nothing of a message
  const caller = await callerOf('mcp', { ...call, principal, request, reply: NO_REPLY });
  for (const message of messagesOf(body)) void answer(stream, caller, message).catch(() => undefined); // as a message that was lost
}

async function answer(stream: Stream, caller: McpCaller, message: Message): Promise<void> {
  const refusal = refusalOfMessage(caller, message);
  if (refusal) {
    const { id = null } = message;
    if (id !== null) stream.write({ event: 'message', data: { jsonrpc: '2.0', id, error: refusal.error } });
    return;
  }
  if (message.method === 'initialize') stream.client = clientIn(message);
  const { text } = await answerMessages({ ...caller, client: stream.client }, message);
  if (text !== '') stream.write({ event: 'message', line: text }); // nothing answers a notification
}
function clientIn({ params }: Message): string | undefined {
  const { name, version } = Object(params?.['clientInfo']) as Record<string, unknown>;
  return typeof name === 'string' && typeof version === 'string' ? `${name} ${version}` : undefined;
}

/**
 * Hands messages to the stream of their caller, in whatever process it is.
 * @throws AppError `not_found` where the caller has no such stream, `unavailable` while another process cannot be reached
 */
export async function sendToStream(call: SurfaceCall, sessionId: string, body: Messages): Promise<void> {
  if (hasRepeatedId(messagesOf(body))) throw new AppError('invalid_request', 'Two requests have the same id');
  const { principal, request, rooms } = call;
  const { cache } = rooms;
  const sent: Sent = { principal, request: { id: request.id, ip: request.ip }, body };
  const credential = credentialOf(principal);
  const here = streamsOf(cache).streams.get(sessionId);
  const owner = here ? credentialOf(here.call.principal) : await cache.get(nameOf(sessionId));
  if (here && owner === credential) return deliver(here, sent);
  const heard = owner === credential ? await cache.publish(nameOf(sessionId), serialize(sent).toString('base64')) : 0;
  if (heard === 0) throw notFound('There is no such stream: open one first');
  if (heard === undefined) throw new AppError('unavailable', 'The process of the stream cannot be reached');
}
