import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Context } from '../src/context.ts';
import { atMost } from '../src/platform/flow/index.ts';
import { StartError } from '../src/platform/kernel/index.ts';
import { type AppOptions, createApp } from './app.ts';
import { openCollaboration } from './collaboration/index.ts';
import { REQUEST_MS } from './http/exchange.ts';
import { answerMalformed } from './http/malformed.ts';
import { reportTo } from './http/report.ts';
import type { AnyRoute } from './http/route.ts';
import { routes as allRoutes } from './resources/routes.gen.ts';

/** The API while it listens; disposing it ends it when the requests under way are answered, or have had their time. */
export interface Api extends AsyncDisposable {
  /** `http://host:port`, with the port that was really taken. */
  address: string;
}

/** For requests under way at the end: turns of actors, which they need, end after them within what the process has. */
const CLOSE_MS = 6_000;
/**
 * Connections that wait until we are at them: more than come in a burst, since the system resets what it has no room
 * for. It has a most of its own, 4,096 as a rule.
 */
const BACKLOG = 4_096;
/** Milliseconds that a peer has for what it sends: slow ones must not hold connections that others need. */
const PATIENCE = { headersMs: 20_000, requestMs: REQUEST_MS, checkMs: 5_000, restMs: 10_000, readerMs: 60_000 };
/**
 * Open connections of a process, each a descriptor and some memory: what comes beyond is closed at once, so that those
 * that are there are served.
 */
const CONNECTIONS = 10_000;
/** Milliseconds between two lines that say so. */
const SAY_FULL_MS = 60_000;

interface ApiOptions extends Omit<AppOptions, 'ending'> {
  routes?: readonly AnyRoute[];
  patience?: Partial<typeof PATIENCE>;
  connections?: number;
}

/** Why a server could not listen, in words that name the setting. */
function explained(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `Port ${port} on ${host} is taken by another process. Choose a free one with PORT, for example PORT=${port + 1}.`,
      { cause: error },
    );
  if (error.code === 'EACCES')
    return new StartError(`This user may not listen on port ${port}. Choose one above 1023 with PORT.`, {
      cause: error,
    });
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new StartError(`${host} is no address of this machine. Change BACKEND_LISTEN_HOST.`, { cause: error });
  return error;
}

/** Listens on the configured address. */
export async function startApi(
  context: Context,
  { routes = allRoutes, patience = {}, connections = CONNECTIONS, ...options }: ApiOptions = {},
): Promise<Api> {
  const { host, port } = context.config.http;
  const { headersMs, requestMs, checkMs, restMs, readerMs } = { ...PATIENCE, ...patience };
  const collaboration = openCollaboration(context);
  const ending = new AbortController();
  const server = createServer(
    {
      shouldUpgradeCallback: collaboration.isUpgrade, // any other wish is answered as if it had none
      requireHostHeader: false /* judged in the app, so that the answer has its form */,
      keepAliveTimeout: 65_000,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
    },
    createApp(context, routes, { ...options, ending: ending.signal, onAnswer: options.onAnswer ?? reportTo(context) }),
  );
  server.maxConnections = connections;
  let saidFull = -SAY_FULL_MS;
  server.on('drop', () => {
    const now = context.clock.monotonic();
    if (now - saidFull < SAY_FULL_MS) return;
    saidFull = now;
    context.logs
      .of('http')
      .warn({ connections }, 'connections are refused until others close: as many are open as this process takes');
  });
  let closing = false;
  server.on('upgrade', (request, socket, head) => {
    // it has a limit of its own, and takes no place of a request
    server.maxConnections += 1;
    socket.once('close', () => (server.maxConnections -= 1));
    collaboration.upgrade(request, socket, head);
  });
  server.prependListener('request', (request, response) => {
    // whoever keeps it goes elsewhere before we are gone
    if (closing || context.health.draining) response.setHeader('Connection', 'close');
    // Bytes that wait for a reader who takes none: what they come from (an open file) must not wait with them. Any byte
    // taken begins it anew.
    response.setTimeout(readerMs, () => void (request.socket.writableLength > 0 && request.socket.destroy()));
    response.on('close', () => {
      if (closing) setImmediate(() => server.closeIdleConnections()); // it was under way when the end was asked for
      // answered, and the rest of its body is not wanted
      if (!request.complete) setTimeout(() => request.complete || request.socket.destroy(), restMs).unref();
    });
  });
  server.on('clientError', answerMalformed(context.config));
  // unknown expectations are not ours to meet
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, host ?? 'this machine', port)));
    server.listen({ port, ...(host !== undefined && { host }), backlog: BACKLOG }, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  const shown = address === '::' || address === '0.0.0.0' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;

  return {
    address: `http://${shown}:${taken}`,
    async [Symbol.asyncDispose]() {
      if (closing) return;
      closing = true;
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      // side by side: one after the other they would take longer than the process has
      const [inTime] = await Promise.all([atMost(context.clock, CLOSE_MS, () => closed), collaboration.drain()]);
      if (!inTime) server.closeAllConnections();
      await closed;
    },
  };
}
