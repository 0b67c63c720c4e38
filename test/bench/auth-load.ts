// Asks for one path with many keys over plain sockets: as little work for each request as can be, so that the server is
// what is measured.
import { connect, type Socket } from 'node:net';
import { answering } from './kit/answering.ts';
import { spread } from './kit/figures.ts';

interface Ask {
  url: string;
  path: string;
  keys: readonly string[];
  callers: number;
  ms: number;
}

const requestsOf = ({ url, path, keys }: Ask) =>
  keys.map((key) =>
    Buffer.from(
      `GET ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: ${key}\r\nAccept: application/json\r\n\r\n`,
    ),
  );

/** One kept connection; answers whether the status was 200. */
async function openCaller(url: string) {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect(Number(port), hostname).setNoDelay(true);
  await new Promise((done, fail) => socket.once('connect', done).once('error', fail));
  let pending: ((ok: boolean) => void) | undefined;
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const at = text.toLowerCase().indexOf('content-length: ');
    if (text.length < end + 4 + Number(text.slice(at + 16, text.indexOf('\r\n', at)))) return;
    const ok = text.startsWith('HTTP/1.1 200');
    text = '';
    pending?.(ok);
  });
  socket.on('close', () => pending?.(false));
  return {
    ask: (request: Buffer) =>
      new Promise<boolean>((resolve) => {
        pending = resolve;
        socket.write(request);
      }),
    end: () => socket.destroy(),
  };
}

answering({
  async closed(asked: Ask) {
    const requests = requestsOf(asked);
    const callers = await Promise.all(Array.from({ length: asked.callers }, () => openCaller(asked.url)));
    const begun = performance.now();
    let [n, answered, refused] = [0, 0, 0];
    await Promise.all(
      callers.map(async ({ ask }) => {
        while (performance.now() - begun < asked.ms) {
          if (await ask(requests[n++ % requests.length]!)) answered += 1;
          else refused += 1;
        }
      }),
    );
    const took = performance.now() - begun;
    for (const { end } of callers) end();
    return { answered, refused, took };
  },
  async open({ perSecond, ...asked }: Ask & { perSecond: number }) {
    const requests = requestsOf(asked);
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
