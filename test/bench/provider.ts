// A social network with the API of the sandbox that keeps nothing but who came when: the same one for all sides.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from './kit/answering.ts';

let latencyMs = 0;
let doubled = 0;
let arrived = new Map<string, number>();

const server = createServer((request, response) => {
  const at = Date.now();
  request.resume();
  request.on('end', () => {
    const key = String(request.headers['idempotency-key']);
    if (arrived.has(key)) doubled += 1;
    else arrived.set(key, at);
    const text = `{"id":"${key}","url":"http://127.0.0.1/posts/${key}"}`;
    const answer = () =>
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
    if (latencyMs > 0) setTimeout(answer, latencyMs);
    else answer();
  });
});
server.keepAliveTimeout = 120_000;

answering({
  listen: () =>
    new Promise((done) =>
      server.listen(0, '127.0.0.1', () => done({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })),
    ),
  reset(message: { latencyMs: number }) {
    ({ latencyMs } = message);
    doubled = 0;
    arrived = new Map();
  },
  count: () => arrived.size,
  arrivals: () => ({ keys: [...arrived.keys()], at: [...arrived.values()], doubled }),
});
