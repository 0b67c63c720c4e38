// The readers of the benchmark `live`: sockets that ask for a stream of events each, and count what comes. They read no
// more of HTTP than that, so that they take as little of the machine as they can from whom they read.
import { connect, type Socket } from 'node:net';
import { answering } from '../../kit/answering.ts';

/** What one notice to everybody came to. */
export interface Heard {
  /** Of each stream, from the announcement to the arrival, in milliseconds. */
  delays: number[];
  bytes: number;
  /** The events of one stream, as they were sent. */
  sample: string;
}
interface Reader {
  readonly socket: Socket;
  readonly opened: PromiseWithResolvers<void>;
  isOpen: boolean;
  /** Until it is open all that came; then the end of it, in which an event may have begun. */
  left: string;
  /** Notices since the last `expect`. */
  heard: number;
}

/** Streams that are opened at once. */
const AT_ONCE = 200;
const GIVE_UP_MS = 60_000;
const COUNT = 'event: count\n';
const NOTICE = 'event: notification\n';
/** What a socket reads is looked at before another one reads. */
const buffer = Buffer.alloc(65_536);

let readers: Reader[] = [];
let arrivals: number[] = [];
let all: PromiseWithResolvers<void>;
let bytes = 0;
let sampled = '';
let doubled = 0;

function open(port: number, cookie: string): Reader {
  const reader: Reader = {
    socket: connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer,
        callback(length) {
          read(reader, buffer.toString('latin1', 0, length));
          return true;
        },
      },
    }),
    opened: Promise.withResolvers(),
    isOpen: false,
    left: '',
    heard: 0,
  };
  const fail = (error: Error) => {
    reader.opened.reject(error);
    all.reject(error);
  };
  reader.socket.on('error', fail);
  reader.socket.on('close', () => fail(new Error('A stream has ended')));
  reader.socket.write(
    `GET /notifications/stream HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\ncookie: ${cookie}\r\n\r\n`,
  );
  return reader;
}

function read(reader: Reader, text: string): void {
  const seen = reader.left + text;
  if (!reader.isOpen) {
    reader.left = seen;
    if (!seen.startsWith('HTTP/1.1 200 '))
      return reader.opened.reject(new Error(`A stream was refused: ${seen.slice(0, 300)}`));
    if (!seen.includes(COUNT)) return;
    reader.isOpen = true;
    reader.left = '';
    return reader.opened.resolve();
  }
  bytes += text.length;
  if (reader === readers[0]) sampled += text;
  for (let at = seen.indexOf(NOTICE); at >= 0; at = seen.indexOf(NOTICE, at + NOTICE.length)) hear(reader);
  reader.left = seen.slice(1 - NOTICE.length);
}

function hear(reader: Reader): void {
  reader.heard += 1;
  if (reader.heard > 1) doubled += 1;
  else if (arrivals.push(Date.now()) === readers.length) all.resolve();
}

function expectNotice(): void {
  for (const reader of readers) reader.heard = 0;
  [arrivals, bytes, sampled] = [[], 0, ''];
  all = Promise.withResolvers();
  all.promise.catch(() => undefined); // whoever waits hears of it
}

expectNotice();
answering({
  /** Opens a stream for each cookie, beside those that are open; answers when each has had its first event. */
  async open({ port, cookies }: { port: number; cookies: readonly string[] }) {
    const begun = performance.now();
    for (let n = 0; n < cookies.length; n += AT_ONCE) {
      const some = cookies.slice(n, n + AT_ONCE).map((cookie) => open(port, cookie));
      readers.push(...some);
      await Promise.all(some.map(({ opened }) => opened.promise));
    }
    return performance.now() - begun;
  },
  /** Begins to count. */
  expect: expectNotice,
  /** When each stream has had a notice since then. */
  async all({ at }: { at: number }): Promise<Heard> {
    const timer = setTimeout(
      () => all.reject(new Error(`A notice has come to ${arrivals.length} of ${readers.length} streams`)),
      GIVE_UP_MS,
    );
    try {
      await all.promise;
    } finally {
      clearTimeout(timer);
    }
    const events = sampled.slice(sampled.indexOf('event: '), sampled.lastIndexOf('\n\n') + 2);
    return { delays: arrivals.map((arrived) => arrived - at), bytes, sample: events };
  },
  /** Leaves all streams; answers how many notices came to one more than once. */
  close() {
    for (const { socket } of readers) socket.removeAllListeners('close').destroy();
    readers = [];
    const count = doubled;
    doubled = 0;
    return count;
  },
});
