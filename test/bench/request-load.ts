// Sends requests in turn over plain sockets: as little work for each as can be, so that the server is what is measured.
import { connect, type Socket } from 'node:net';
import { answering } from './kit/answering.ts';
import { spread } from './kit/figures.ts';

/** One request: with a body it is a POST, else a GET. */
export interface LoadRequest {
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}
interface Ask {
  url: string;
  requests: readonly LoadRequest[];
  callers: number;
  ms: number;
}

const bytesOf = ({ url, requests }: Ask) =>
  requests.map(({ path, headers, body }) => {
    const lines = Object.entries({
      host: new URL(url).host,
      accept: 'application/json',
      ...headers,
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
  });

/** Whether an answer is whole; undefined as long as its head is not. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  if (text.startsWith('HTTP/1.1 304')) return true;
  const head = text.slice(0, end + 2).toLowerCase();
  const at = head.indexOf('\r\ncontent-length: ');
  if (at < 0) return text.endsWith('\r\n0\r\n\r\n');
  return text.length >= end + 4 + Number(head.slice(at + 18, head.indexOf('\r\n', at + 2)));
}

/** One kept connection; answers what came back, as text. */
async function openCaller(url: string) {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect(Number(port), hostname).setNoDelay(true);
  await new Promise((done, fail) => socket.once('connect', done).once('error', fail));
  let pending: ((answer: string) => void) | undefined;
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (!isWhole(text)) return;
    const answer = text;
    text = '';
    pending?.(answer);
  });
  socket.on('close', () => pending?.('closed'));
  return {
    ask: (request: Buffer) =>
      new Promise<string>((resolve) => {
        pending = resolve;
        socket.write(request);
      }),
    end: () => socket.destroy(),
  };
}
const isGood = (answer: string) => answer.startsWith('HTTP/1.1 200') || answer.startsWith('HTTP/1.1 304');

answering({
  async closed(asked: Ask) {
    const requests = bytesOf(asked);
    const callers = await Promise.all(Array.from({ length: asked.callers }, () => openCaller(asked.url)));
    const begun = performance.now();
    let [n, answered, refused, bytes] = [0, 0, 0, 0];
    let failure: string | undefined;
    await Promise.all(
      callers.map(async ({ ask }) => {
        while (performance.now() - begun < asked.ms) {
          const answer = await ask(requests[n++ % requests.length]!);
          bytes += answer.length;
          if (isGood(answer)) answered += 1;
          else {
            refused += 1;
            failure ??= answer.slice(0, 1_000);
          }
        }
      }),
    );
    const took = performance.now() - begun;
    for (const { end } of callers) end();
    return { answered, refused, bytes, took, failure };
  },
  async open({ perSecond, ...asked }: Ask & { perSecond: number }) {
    const requests = bytesOf(asked);
    const free = await Promise.all(Array.from({ length: asked.callers }, () => openCaller(asked.url)));
    const all = [...free];
    const latencies: number[] = [];
    const waiting: { n: number; intended: number }[] = [];
    const total = Math.floor((perSecond * asked.ms) / 1_000);
    const started = performance.now();
    const go = async (caller: (typeof free)[number]) => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await caller.ask(requests[next.n % requests.length]!);
        latencies.push(performance.now() - next.intended);
      }
      free.push(caller);
    };
    for (let n = 0; n < total;) {
      for (; n < total; n += 1) {
        const intended = started + (n * 1_000) / perSecond;
        if (intended > performance.now()) break;
        waiting.push({ n, intended });
      }
      while (waiting.length > 0 && free.length > 0) void go(free.pop()!);
      await new Promise((next) => setImmediate(next));
    }
    while (latencies.length < total) await new Promise((next) => setTimeout(next, 1));
    for (const { end } of all) end();
    return spread('read', latencies);
  },
});
