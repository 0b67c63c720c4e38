import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.ts';

/** A listener on 127.0.0.1 that answers `GET /metrics` and nothing else, for a process without the API. Rejects when the port is taken. */
export async function startMetricsListener(metrics: Pick<Metrics, 'text' | 'contentType'>, port: number): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics' || request.headers['x-forwarded-for'] !== undefined) return void response.writeHead(404).end();
    metrics.text().then(
      (text) => void response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => void response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
