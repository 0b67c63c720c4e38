import { WebSocket } from 'ws';
import { applyAwarenessUpdate, Awareness, encodeAwarenessUpdate } from 'y-protocols/awareness';
import * as Y from 'yjs';

// A client of y-websocket's protocol, written from its description: for what the library itself cannot be told to do.

/** A number of variable length, as lib0 writes it. */
export function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}
export const counted = (bytes: Uint8Array): Uint8Array => Buffer.concat([varint(bytes.length), bytes]);
export const syncFrame = (step: 0 | 1 | 2, bytes: Uint8Array): Uint8Array =>
  Buffer.concat([varint(0), varint(step), counted(bytes)]);
export const awarenessFrameOf = (bytes: Uint8Array): Uint8Array => Buffer.concat([varint(1), counted(bytes)]);

function reading(frame: Uint8Array) {
  let at = 0;
  const number = (): number => {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = frame[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  return { number, rest: () => frame.slice(at) };
}

export interface Frame {
  type: number;
  /** Of a frame of sync. */
  step: number | undefined;
  payload: Uint8Array;
}
function parsed(frame: Uint8Array): Frame {
  const { number, rest } = reading(frame);
  const type = number();
  const step = type === 0 || type === 2 ? number() : undefined;
  const tail = rest();
  const { number: length, rest: payload } = reading(tail);
  length();
  return { type, step, payload: payload() };
}

interface Options {
  /** Behind the address; `/collaboration/<room>` unless given. */
  path?: string;
  headers?: Record<string, string>;
  doc?: Y.Doc;
  /** Answer nothing and ask nothing. */
  isSilent?: boolean;
}

/** Opens a room as y-websocket does. */
export function openCoEditor(
  address: string,
  room: string,
  { path, headers = {}, doc = new Y.Doc(), isSilent = false }: Options = {},
) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}${path ?? `/collaboration/${room}`}`, { headers });
  const awareness = new Awareness(doc);
  const frames: Frame[] = [];
  const denied: string[] = [];
  const synced = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<{ status: number; body: string }>();
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  synced.promise.catch(() => {});
  refused.promise.catch(() => {});
  const send = (frame: Uint8Array) => {
    if (socket.readyState === socket.OPEN) socket.send(frame);
  };
  socket.on('error', () => {});
  socket.on('unexpected-response', (_, response) => {
    let body = '';
    response.on('data', (data: Buffer) => (body += data.toString()));
    response.on('end', () => refused.resolve({ status: response.statusCode ?? 0, body }));
  });
  socket.on('open', () => {
    if (isSilent) return;
    send(syncFrame(0, Y.encodeStateVector(doc)));
    if (awareness.getLocalState() !== null) send(awarenessFrameOf(encodeAwarenessUpdate(awareness, [doc.clientID])));
  });
  socket.on('message', (data: Buffer) => {
    const frame = parsed(new Uint8Array(data));
    frames.push(frame);
    const { type, step, payload } = frame;
    if (type === 0 && step === 0 && !isSilent) send(syncFrame(1, Y.encodeStateAsUpdate(doc, payload)));
    else if (type === 0 && step !== 0) Y.applyUpdate(doc, payload, socket);
    else if (type === 1) applyAwarenessUpdate(awareness, payload, socket);
    else if (type === 2) denied.push(Buffer.from(payload).toString());
    if (type === 0 && (step === 1 || (step === 0 && isSilent))) synced.resolve();
  });
  doc.on('update', (update: Uint8Array, origin: unknown) => {
    if (origin !== socket && !isSilent) send(syncFrame(2, update));
  });
  awareness.on('update', ({ added, updated }: { added: number[]; updated: number[] }, origin: unknown) => {
    const changed = [...added, ...updated].filter((id) => id === doc.clientID);
    if (origin === 'local' && changed.length > 0 && !isSilent)
      send(awarenessFrameOf(encodeAwarenessUpdate(awareness, changed)));
  });
  void closed.then(() => awareness.destroy());

  return {
    socket,
    doc,
    awareness,
    frames,
    /** What it was refused. */
    denied,
    synced: synced.promise,
    refused: refused.promise,
    closed,
    send,
    /** The nodes of the document as y-prosemirror writes them. */
    get xml(): string {
      return doc.getXmlFragment('content').toJSON();
    },
    /** What the server says of itself. */
    get server(): Record<string, unknown> | undefined {
      return [...awareness.getStates().values()].find((state) => 'server' in state)?.['server'] as
        | Record<string, unknown>
        | undefined;
    },
    /** Adds a paragraph at the end. */
    write(text: string): void {
      const paragraph = new Y.XmlElement('paragraph');
      paragraph.insert(0, [new Y.XmlText(text)]);
      doc.getXmlFragment('content').push([paragraph]);
    },
    /** Types into the first text of a node. */
    typeInto(node: number, at: number, text: string): void {
      const paragraph = doc.getXmlFragment('content').get(node) as Y.XmlElement;
      (paragraph.get(0) as Y.XmlText).insert(at, text);
    },
    async close(): Promise<void> {
      socket.close();
      await closed;
    },
  };
}
export type CoEditor = ReturnType<typeof openCoEditor>;
