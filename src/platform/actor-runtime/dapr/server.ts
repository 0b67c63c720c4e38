import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AppError, asAppError, equalSecrets } from '../../kernel/index.ts';
import { answerActor } from './actor-requests.ts';
import { escapeName } from './escape.ts';
import { receiveBody, type ServerReply, type ServerOptions, type Serving } from './serving.ts';
import { encode, ERROR_HEADER, LENGTH_HEADER, TOKEN_HEADER } from './wire.ts';

/** Daprd keeps idle connections for 90 s; a server that closes earlier makes it meet closing sockets. */
const KEEP_ALIVE_MS = 95_000;
const HEADERS_MS = 100_000;

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

/**
 * An error of ours is status 200 and a header: every other status daprd replaces by an error of its own, and the code
 * is lost.
 */
const failure = (error: AppError): ServerReply => ({ status: 200, body: JSON.stringify(error), isError: true });

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

async function answer(serving: Serving, request: IncomingMessage): Promise<ServerReply> {
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
    if (first === 'actors') return await answerActor(serving, method, rest, request);
    if (first === 'events' && method === 'POST' && rest.length === 1)
      return { status: 200, body: encode(await subscriptions.deliver(rest[0]!, await receiveBody(request))) };
  } catch (thrown) {
    const error = asAppError(thrown);
    if (error.code === 'internal') log.error({ url, err: error.cause ?? error }, 'turn failed');
    return failure(error);
  }
  return { status: 404 };
}

function send(response: ServerResponse, { status, body = '', isError = false }: ServerReply): void {
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
