// A receiver of webhooks that keeps when each delivery came first, and how long after the moment that its body names.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from '../kit/answering.ts';

const SILENT_MS = 10_000;
/** By `webhook-id`: the endpoint, when it came, and milliseconds since what it tells of was committed. */
let came = new Map<string, { isSilent: boolean; at: number; delayMs: number }>();
let doubled = 0;

const server = createServer((request, response) => {
  const at = Date.now();
  const parts: Buffer[] = [];
  request.on('data', (bytes: Buffer) => void parts.push(bytes));
  request.on('end', () => {
    const key = String(request.headers['webhook-id']);
    const isSilent = request.url!.startsWith('/silent');
    const [, told] = /at=(\d+)/.exec(Buffer.concat(parts).toString()) ?? [];
    if (came.has(key)) doubled += 1;
    else came.set(key, { isSilent, at, delayMs: at - Number(told) });
    const answer = () => response.writeHead(200, { 'content-length': 2 }).end('ok');
    if (isSilent) setTimeout(answer, SILENT_MS);
    else answer();
  });
});
server.keepAliveTimeout = 120_000;

const healthy = () => [...came.values()].filter(({ isSilent }) => !isSilent);
answering({
  listen: () =>
    new Promise((done) =>
      server.listen(0, '127.0.0.1', () => done({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })),
    ),
  reset() {
    came = new Map();
    doubled = 0;
  },
  /** Of endpoints that answer at once. */
  count: () => healthy().length,
  arrivals: () => ({
    last: Math.max(...healthy().map(({ at }) => at)),
    delays: healthy().map((one) => one.delayMs),
    doubled,
  }),
});
