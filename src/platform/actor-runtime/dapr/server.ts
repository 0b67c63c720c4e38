import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AppError, asAppError, equalSecrets } from '../../kernel/index.ts';
import type { Address } from '../engine.ts';
import type { Host, RuntimeLog } from '../host.ts';
import type { Tracing } from '../../telemetry/index.ts';
import type { Subscriptions } from './bus.ts';
import { escapeName, isDigest, readName, unescapeName } from './escape.ts';
import {
  CALLER_HEADER,
  COMMAND_HEADER,
  decode,
  decodeFreight,
  encode,
  ERROR_HEADER,
  ID_HEADER,
  LENGTH_HEADER,
  TOKEN_HEADER,
  TRACE_HEADER,
} from './wire.ts';

/** Daprd keeps idle connections for 90 s; a server that closes earlier makes it meet closing sockets. */
const KEEP_ALIVE_MS = 95_000;
const HEADERS_MS = 100_000;
const MAX_BODY = 16 * 1024 * 1024;
/** A round waits for this answer, and a turn that daprd has cut may still run: after this it is answered anyway. */
const DEACTIVATE_MS = 500;

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

/** The host as daprd sees it. */
export interface HostServer {
  listen(): Promise<void>;
  /** `/healthz` answers 503 from now on. */
  turnUnhealthy(): void;
  /** By the monotonic clock: when daprd last asked anything but for health, and when it last asked for health. */
  lastAsked(): number;
  lastProbed(): number;
  close(): Promise<void>;
}

interface Reply {
  status: number;
  body?: string;
  isError?: boolean;
}

/**
 * By events: iterating over the stream costs several times as much, and ten thousand callbacks may come in a second.
 */
const bodyOf = (request: IncomingMessage) =>
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

/**
 * An error of ours is status 200 and a header: every other status daprd replaces by an error of its own, and the code
 * is lost.
 */
const failure = (error: AppError): Reply => ({ status: 200, body: JSON.stringify(error), isError: true });

/** A server, and what it has been asked so far. */
interface Serving extends ServerOptions {
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

/**
 * Serves the actor protocol of daprd on 127.0.0.1. A request whose socket closes goes on: its turn counts or is refused
 * by the row.
 */
export function openHostServer(options: ServerOptions): HostServer {
  const { host, port, log, idleMs, drainMs, now } = options;
  const serving: Serving = {
    ...options,
    caller: Buffer.from(options.callerToken),
    config: encode({
      entities: host.types.map(escapeName),
      actorIdleTimeout: `${idleMs}ms`,
      drainOngoingCallTimeout: `${drainMs}ms`,
      drainRebalancedActors: true,
      reentrancy: { enabled: false },
    }),
    digests: new Map(),
    healthy: true,
    lastAsked: now(),
    lastProbed: Number.NEGATIVE_INFINITY,
  };
  const server: Server = createServer((request, response) => {
    answer(serving, request).then(
      (reply) => send(response, reply),
      (error: unknown) => {
        log.debug({ url: request.url, err: error }, 'request of daprd was cut');
        response.destroy();
      },
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = 0;

  return {
    listen: () =>
      new Promise((done, fail) => {
        server.once('error', (error: NodeJS.ErrnoException) =>
          fail(
            error.code === 'EADDRINUSE'
              ? new Error(
                  `Port ${port} for Dapr's calls to this host is taken. ` +
                    'Set APP_PORT (and --app-port of daprd) to another one.',
                  { cause: error },
                )
              : error,
          ),
        );
        server.listen(port, '127.0.0.1', done);
      }),
    turnUnhealthy: () => void (serving.healthy = false),
    lastAsked: () => serving.lastAsked,
    lastProbed: () => serving.lastProbed,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function addressOf(
  { digests }: Serving,
  type: string | undefined,
  wire: string | undefined,
  told: string | undefined,
): Address | undefined {
  if (type === undefined || wire === undefined) return undefined;
  const known = { type: unescapeName(type), id: readName(wire, told ?? digests.get(wire)) };
  if (known.type === undefined || known.id === undefined) return undefined;
  if (isDigest(wire)) digests.set(wire, known.id);
  return { type: known.type, id: known.id };
}

async function deactivate(serving: Serving, type: string | undefined, wire: string | undefined): Promise<Reply> {
  const { host, log, digests } = serving;
  const of = addressOf(serving, type, wire, undefined);
  if (!of) return { status: 200 };
  const done = host.deactivate(of).catch((error: unknown) => log.warn({ of, err: error }, 'deactivation failed'));
  await Promise.race([done, new Promise((passed) => setTimeout(passed, DEACTIVATE_MS).unref())]);
  digests.delete(wire!);
  return { status: 200 };
}

async function actor(
  serving: Serving,
  method: string,
  [type, id, verb, name, reminder, ...more]: readonly string[],
  request: IncomingMessage,
): Promise<Reply> {
  if (method === 'DELETE' && verb === undefined) return deactivate(serving, type, id);
  if (method !== 'PUT' || verb !== 'method' || !name || name === 'timer' || more.length > 0) return { status: 404 };
  if (name === 'remind') {
    const { data, owner, ...told } = decodeFreight(await bodyOf(request));
    const to = addressOf(serving, type, id, told.id);
    const which = reminder === undefined ? undefined : readName(reminder, told.name);
    if (!to || which === undefined) return { status: 404 };
    await serving.host.fire(to, which, data, owner);
    return { status: 200 };
  }
  const told = request.headers[ID_HEADER];
  const to = addressOf(serving, type, id, typeof told === 'string' ? percentDecoded(told) : undefined);
  const called = unescapeName(name);
  if (!to || called === undefined || reminder !== undefined) return { status: 404 };
  const body = await bodyOf(request);
  if (!isOurs(serving, request)) return answerNeighbour(serving, to, called, body);
  const commandId = request.headers[COMMAND_HEADER];
  const given = input(body);
  const call = () => serving.host.call(to, called, given, typeof commandId === 'string' ? commandId : undefined);
  return { status: 200, body: encode(await continued(serving, request, to.type, call)) };
}

/** Of every call, so it costs less than digests would; how long the token is, is no secret. */
function isOurs({ caller }: Serving, { headers }: IncomingMessage): boolean {
  const given = Buffer.from(String(headers[CALLER_HEADER] ?? ''));
  return given.length === caller.length && timingSafeEqual(given, caller);
}

/**
 * A call by another application. The client of Dapr's makers sends its arguments as a list, and takes any 200 for a
 * result: an error has a status of its own here, which daprd makes a failure of the call.
 */
async function answerNeighbour({ host, log }: Serving, to: Address, method: string, body: string): Promise<Reply> {
  try {
    const given = input(body);
    const argument = Array.isArray(given) && given.length < 2 ? given[0] : given;
    return { status: 200, body: encode(await host.callByNeighbour(to, method, argument ?? {})) };
  } catch (thrown) {
    const error = asAppError(thrown);
    if (error.code === 'internal') log.error({ to, method, err: error.cause ?? error }, 'a call by a neighbour failed');
    // of a 404 daprd says that there is no such method, and nothing of the body
    return { status: error.status === 404 ? 400 : error.status, body: JSON.stringify(error) };
  }
}

/** A call as a span below that of the process that makes it. */
function continued(
  { tracing }: Serving,
  request: IncomingMessage,
  type: string,
  call: () => Promise<unknown>,
): Promise<unknown> {
  const traceparent = request.headers[TRACE_HEADER];
  if (!tracing?.enabled || typeof traceparent !== 'string') return call();
  return tracing.span({ name: `call ${type}`, kind: 'server', traceparent }, call);
}

async function answer(serving: Serving, request: IncomingMessage): Promise<Reply> {
  const { token, now, log, subscriptions } = serving;
  const method = request.method ?? '';
  const url = request.url ?? '';
  if (url === '/healthz') {
    serving.lastProbed = now();
    return { status: serving.healthy ? 200 : 503 };
  }
  const sent = request.headers[TOKEN_HEADER];
  if (token !== undefined && !(typeof sent === 'string' && equalSecrets(sent, token))) return { status: 401 };
  serving.lastAsked = now();
  if (url === '/dapr/config' && method === 'GET') return { status: 200, body: serving.config };
  if (url === '/dapr/subscribe' && method === 'GET') return { status: 200, body: encode(subscriptions.list()) };
  const [, first, ...rest] = url.split('/');
  try {
    if (first === 'actors') return await actor(serving, method, rest, request);
    if (first === 'events' && method === 'POST' && rest.length === 1)
      return { status: 200, body: encode(await subscriptions.deliver(rest[0]!, await bodyOf(request))) };
  } catch (thrown) {
    const error = asAppError(thrown);
    if (error.code === 'internal') log.error({ url, err: error.cause ?? error }, 'turn failed');
    return failure(error);
  }
  return { status: 404 };
}

function send(response: ServerResponse, { status, body = '', isError = false }: Reply): void {
  if (response.destroyed) return; // daprd cut the call; the turn has ended by its own rules
  const length = Buffer.byteLength(body);
  response.writeHead(status, {
    'content-length': length,
    [LENGTH_HEADER]: length,
    ...(body !== '' && { 'content-type': 'application/json' }),
    ...(isError && { [ERROR_HEADER]: 'true' }),
  });
  response.end(body);
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A body that is no JSON is a fault of the caller, named as such. */
function input(text: string): unknown {
  try {
    return decode(text);
  } catch (cause) {
    throw new AppError('invalid_json', 'The input of this call is not JSON', {}, { cause });
  }
}
