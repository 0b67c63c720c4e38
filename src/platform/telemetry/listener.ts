import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { equalSecrets } from '../kernel/index.ts';
import type { Metrics } from './metrics.ts';

interface Options {
  port: number;
  host: string;
  /** Opens the numbers to callers from other machines, and through a proxy. */
  token: string | undefined;
}

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
const isOwnMachine = ({ socket, headers }: IncomingMessage) =>
  LOOPBACK.test(socket.remoteAddress ?? '') && headers['x-forwarded-for'] === undefined;
/** Tells whether an `Authorization` header is that bearer token. */
export const bearsToken = (authorization: string | undefined, token: string): boolean =>
  /^bearer /i.test(authorization ?? '') && equalSecrets(authorization!.slice('bearer '.length).trimStart(), token);

/** Answers `GET /metrics` and nothing else, for a process without the API. Rejects when it cannot listen. */
export async function startMetricsListener(
  metrics: Pick<Metrics, 'text' | 'contentType'>,
  { port, host, token }: Options,
): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    const isOpen = isOwnMachine(request) || (token !== undefined && bearsToken(request.headers.authorization, token));
    if (request.method !== 'GET' || request.url !== '/metrics' || !isOpen) return void response.writeHead(404).end();
    metrics.text().then(
      (text) => void response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => void response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
