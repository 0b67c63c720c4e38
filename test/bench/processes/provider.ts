// A social network with the API of the sandbox that keeps nothing but who came when: the same one for all sides.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from '../kit/answering.ts';
import { HANGING } from '../kit/hanging.ts';

/** Who came when, by idempotency key, and how many came twice. */
const emptyBook = () => ({ arrived: new Map<string, number>(), doubled: 0 });
let latencyMs = 0;
/** Calls that asked for numbers. */
let readings = 0;
/** How long the accounts of `HANGING` wait for their answers. */
let hangingMs = 0;
let posts = emptyBook();
let comments = emptyBook();

/** What is told of a channel or of posts that are asked for by their ids; undefined: it is no question for numbers. */
function numbersOf({ pathname, searchParams }: URL): object | undefined {
  if (pathname === '/totals') return { followers: 1_000, posts: 30 };
  if (pathname !== '/counts') return undefined;
  const ids = searchParams.get('ids')?.split(',') ?? [];
  return { items: ids.map((id) => ({ id, likes: 3, comments: 2, reposts: 1 })) };
}

const server = createServer((request, response) => {
  const at = Date.now();
  request.resume();
  request.on('end', () => {
    const numbers = request.method === 'GET' ? numbersOf(new URL(request.url ?? '', 'http://provider')) : undefined;
    if (numbers) {
      readings += 1;
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(numbers));
    }
    const key = String(request.headers['idempotency-key']);
    const book = request.url?.endsWith('/comments') ? comments : posts;
    if (book.arrived.has(key)) book.doubled += 1;
    else book.arrived.set(key, at);
    const text = `{"id":"${key}","url":"http://127.0.0.1/posts/${key}"}`;
    const answer = () =>
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
    const isHanging = hangingMs > 0 && String(request.headers.authorization).includes(`sandbox.${HANGING}-`);
    const waitMs = isHanging ? hangingMs : latencyMs;
    if (waitMs > 0) setTimeout(answer, waitMs);
    else answer();
  });
});
server.keepAliveTimeout = 120_000;

const arrivalsOf = ({ arrived, doubled }: ReturnType<typeof emptyBook>) => ({
  keys: [...arrived.keys()],
  at: [...arrived.values()],
  doubled,
});

answering({
  listen: () =>
    new Promise((done) =>
      server.listen(0, '127.0.0.1', () => done({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })),
    ),
  reset(message: { latencyMs: number; hangingMs?: number }) {
    ({ latencyMs, hangingMs = 0 } = message);
    posts = emptyBook();
    comments = emptyBook();
    readings = 0;
  },
  count: () => posts.arrived.size,
  arrivals: () => arrivalsOf(posts),
  comments: () => arrivalsOf(comments),
  readings: () => readings,
});
