// The least that a call through a sidecar can cost: this app asks a proxy in front of an app, both plain node:http.
// `proxy`: is that proxy; else the app with its caller.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { answering } from '../kit/answering.ts';
import { allCalls } from '../kit/calls.ts';

const poolOf = (url: string) => new Pool(url, { connections: 128, pipelining: 1 });
const textOf = async (stream: AsyncIterable<Buffer> | IncomingMessage): Promise<string> => {
  let text = '';
  for await (const piece of stream) text += String(piece);
  return text;
};
const listen = (listener: RequestListener) =>
  new Promise<string>((done) => {
    const server = createServer(listener).listen(0, '127.0.0.1', () =>
      done(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
    server.keepAliveTimeout = 120_000;
  });
const headers = { 'content-type': 'application/json' };
const send = async (pool: Pool, body: string): Promise<string> =>
  (await pool.request({ method: 'PUT', path: '/actors/Bench/one/method/empty', headers, body })).body.text();

let through: Pool | undefined;
answering({
  app: () =>
    listen((request, response) => void textOf(request).then((text) => response.writeHead(200, headers).end(text))),
  proxy({ to }: { to: string }) {
    const pool = poolOf(to);
    return listen(
      (request, response) =>
        void textOf(request)
          .then((text) => send(pool, text))
          .then((text) => response.writeHead(200, headers).end(text)),
    );
  },
  calls({ by, ms }: { by: string; ms: number }) {
    const pool = (through ??= poolOf(by));
    return allCalls({ empty: () => send(pool, '{}') }, ms);
  },
});
