import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Context } from '../src/context.ts';
import { type AppOptions, createApp } from './app.ts';
import { reportTo } from './http/report.ts';
import type { AnyRoute } from './http/route.ts';
import { routes as allRoutes } from './routes/index.ts';

/** The API while it listens; disposing it ends it when the requests under way are answered. */
export interface Api extends AsyncDisposable {
  /** `http://host:port`, with the port that was really taken. */
  address: string;
}

const CLOSE_MS = 8_000;

/** Why a server could not listen, in words that name the setting. */
function explained(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(`Port ${port} on ${host} is taken by another process. Choose a free one with PORT, for example PORT=${port + 1}.`, { cause: error });
  if (error.code === 'EACCES') return new Error(`This user may not listen on port ${port}. Choose one above 1023 with PORT.`, { cause: error });
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new Error(`${host} is no address of this machine. Change BACKEND_LISTEN_HOST.`, { cause: error });
  return error;
}

/** Listens on the configured address. */
export async function startApi(context: Context, { routes = allRoutes, ...options }: AppOptions & { routes?: readonly AnyRoute[] } = {}): Promise<Api> {
  const { host, port } = context.config.http;
  const server = createServer(
    { keepAliveTimeout: 65_000, requestTimeout: 600_000 },
    createApp(context, routes, { ...options, onAnswer: options.onAnswer ?? reportTo(context) }),
  );
  let closing = false;
  server.prependListener('request', (_, response) => {
    if (closing) response.setHeader('Connection', 'close');
    response.once('close', () => closing && setImmediate(() => server.closeIdleConnections())); // it was under way when the end was asked for
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, host ?? 'this machine', port)));
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  const shown = address === '::' || address === '0.0.0.0' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;

  return {
    address: `http://${shown}:${taken}`,
    async [Symbol.asyncDispose]() {
      if (closing) return;
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const given = new AbortController();
      const waited = context.clock.sleep(CLOSE_MS, given.signal).then(
        () => server.closeAllConnections(),
        () => {},
      );
      await closed;
      given.abort();
      await waited;
    },
  };
}
