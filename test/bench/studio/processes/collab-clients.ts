// The clients of the benchmark `collab`: sockets that speak y-websocket, or the dialect of Hocuspocus, which has the name
// of the document in front of each frame. The first of each document writes; all others read and build nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import * as Y from 'yjs';
import { answering } from '../../kit/answering.ts';
import { median, percentile } from '../../kit/figures.ts';

export interface Place {
  url: string;
  headers?: Record<string, string>;
  /** Of a document, where each frame begins with it. */
  name?: string;
}
interface Editor {
  place: Place;
  socket: WebSocket;
  synced: Promise<void>;
  /** The writer of its document, where it is one. */
  text?: Y.XmlText;
}

/** Connections that are opened at once. */
const AT_ONCE = 200;
const MOST_MS = 120_000;
/** Each write is a number of seven digits behind this byte, so that it is found in whatever frame it comes. */
const MARK = '#'.charCodeAt(0);
const DIGITS = 7;

let editors: Editor[] = [];
let count = 0;
let deliveries = 0;
let writes = 0;
let sentAt = new Float64Array(0);
let latencies: number[] = [];

const counted = (bytes: Uint8Array): Buffer => {
  const head: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) head.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...head, rest]), bytes]);
};
const nameOf = ({ name }: Place): Buffer => (name === undefined ? Buffer.alloc(0) : counted(Buffer.from(name)));
const syncFrame = (place: Place, step: number, payload: Uint8Array): Buffer =>
  Buffer.concat([nameOf(place), Buffer.from([0, step]), counted(payload)]);

/** Counts the writes of others in a frame. */
function read(frame: Buffer): void {
  const now = performance.now();
  for (let at = frame.indexOf(MARK); at >= 0; at = frame.indexOf(MARK, at + 1)) {
    const number = Number(frame.toString('latin1', at + 1, at + 1 + DIGITS));
    const sent = Number.isInteger(number) ? sentAt[number] : undefined;
    if (!sent) continue;
    deliveries += 1;
    latencies.push(now - sent);
  }
}

function open(place: Place, isWriter: boolean): Editor {
  const socket = new WebSocket(place.url, { headers: place.headers ?? {}, perMessageDeflate: false });
  const before = nameOf(place).length;
  const done = Promise.withResolvers<void>();
  const doc = isWriter ? new Y.Doc() : undefined;
  const editor: Editor = { place, socket, synced: done.promise };
  socket.on('error', done.reject);
  socket.on('close', (code) => done.reject(new Error(`closed with ${code}`)));
  socket.on('open', () => {
    if (place.name !== undefined) socket.send(Buffer.concat([nameOf(place), Buffer.from([2, 0, 0])])); // no token
    socket.send(syncFrame(place, 0, Uint8Array.of(0)));
  });
  let isSynced = false;
  socket.on('message', (frame: Buffer) => {
    if (!isSynced && frame[before + 1] === 1 && (frame[before] === 0 || frame[before] === 4)) {
      isSynced = true;
      if (doc) {
        let at = before + 2;
        while (frame[at]! > 127) at += 1; // its length
        Y.applyUpdate(doc, new Uint8Array(frame.subarray(at + 1)));
        editor.text = begin(editor, doc);
      }
      done.resolve();
      return;
    }
    if (!isWriter) read(frame);
  });
  return editor;
}

/** The writer of a document has a paragraph of its own. */
function begin({ place, socket }: Editor, doc: Y.Doc): Y.XmlText {
  doc.on('update', (update: Uint8Array) => socket.send(syncFrame(place, 2, update)));
  const paragraph = new Y.XmlElement('paragraph');
  const text = new Y.XmlText();
  paragraph.insert(0, [text]);
  doc.getXmlFragment('content').push([paragraph]);
  return text;
}

async function openAll(places: readonly (readonly Place[])[]): Promise<{ ms: number }> {
  const all = places.flatMap((document) => document.map((place, n) => ({ place, isWriter: n === 0 })));
  const begun = performance.now();
  const opened: Editor[] = [];
  for (let n = 0; n < all.length; n += AT_ONCE) {
    const some = all.slice(n, n + AT_ONCE).map(({ place, isWriter }) => open(place, isWriter));
    opened.push(...some);
    await Promise.all(some.map(({ synced }) => synced));
  }
  editors = opened;
  return { ms: performance.now() - begun };
}

async function closeAll(): Promise<void> {
  await Promise.all(
    editors.map(({ socket }) => new Promise<void>((closed) => void socket.once('close', () => closed()).close())),
  );
  editors = [];
}

answering({
  open: ({ places }: { places: Place[][] }) => openAll(places),
  close: closeAll,
  /** Cuts all connections, and opens them again at once: milliseconds until the last has its document. */
  async reopen() {
    const places = editors.map(({ place }) => place);
    await closeAll();
    const begun = performance.now();
    editors = places.map((place) => open(place, false));
    await Promise.all(editors.map(({ synced }) => synced));
    return { ms: performance.now() - begun };
  },
  /** Writes into every document for a while, and waits until every reader has everything. */
  async write({ perSecond, ms }: { perSecond: number; ms: number }) {
    const writers = editors.filter(({ text }) => text !== undefined);
    const readers = (editors.length - writers.length) / writers.length;
    const each = Math.round((perSecond * ms) / 1_000);
    sentAt = new Float64Array(count + each * writers.length + 1);
    for (const { text } of writers) text!.delete(0, text!.length);
    await sleep(500);
    [deliveries, writes, latencies] = [0, 0, []];
    const begun = performance.now();
    for (let n = 0; n < each; n += 1)
      for (const [w, { text }] of writers.entries()) {
        // each has its own moment in the interval
        const due = begun + ((n + w / writers.length) * 1_000) / perSecond;
        if (due > performance.now() + 1) await sleep(due - performance.now());
        count += 1;
        writes += 1;
        sentAt[count] = performance.now();
        text!.insert(text!.length, `#${String(count).padStart(DIGITS, '0')}`);
      }
    const wanted = writes * readers;
    for (const end = performance.now() + MOST_MS; deliveries < wanted;) {
      if (performance.now() > end) throw new Error(`${deliveries} of ${wanted} deliveries came`);
      await sleep(10);
    }
    return {
      deliveries,
      p50: median(latencies),
      p99: percentile(
        latencies.toSorted((a, b) => a - b),
        0.99,
      ),
    };
  },
});
