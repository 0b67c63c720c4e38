import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Principal } from '../http/route.ts';
import type { RoomName } from './address.ts';
import type { Rights } from './rights.ts';
import type { Encoded } from './wire.ts';

/** The codes that connections are closed with (S206), beside those of the protocol. */
export const CLOSE = {
  notAuthenticated: 4401,
  noRight: 4403,
  notFound: 4404,
  malformed: 1003,
  tooFast: 1008,
  restart: 1012,
  tooMany: 1013,
} as const;

/** Bytes of one frame. */
export const MOST_FRAME_BYTES = 1_000_000;
/** Bytes that wait for a reader, beside the document that it loads, before it has to load anew. */
const MOST_UNSENT = 4_000_000;
/** Frames in each window. */
const MOST_FRAMES = 600;
const WINDOW_MS = 10_000;
/** How long the other side has for its closing frame. */
const CLOSING_MS = 2_000;

interface Who {
  principal: Principal;
  rights: Rights;
  readonly room: RoomName;
  /** Who made what the room stands for, where that matters to rights. */
  readonly author: string | null | undefined;
}
interface Options extends Who {
  ws: WebSocket;
  /** What `ws` writes to. */
  socket: Duplex;
  clock: Pick<Clock, 'monotonic'>;
  onFrame(connection: Connection, frame: Uint8Array): void;
  onClose(connection: Connection): void;
}

/** Ends a connection, also one whose other side does not answer. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), CLOSING_MS).unref();
}

const bytesOf = (data: RawData): Uint8Array =>
  data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(Array.isArray(data) ? Buffer.concat(data) : data); // a copy: a frame may lie in memory of others
const nothing = () => {};

/** One client of a room: what it sends within its limits, and what waits to be sent to it. */
export class Connection implements Who {
  principal: Principal;
  rights: Rights;
  readonly room: RoomName;
  readonly author: string | null | undefined;
  /** It was told that it may not write. */
  isTold = false;
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #on: Pick<Options, 'clock' | 'onFrame' | 'onClose'>;
  #isOpen = true;
  /** It was heard since it was asked. */
  #isThere = true;
  /** It has asked for the document. */
  #isAnswered = false;
  /** Bytes of the first answer, as long as one of them is not sent. */
  #loading = 0;
  #windowAt: number;
  #frames = 0;

  constructor({ ws, socket, principal, rights, room, author, ...on }: Options) {
    [this.principal, this.rights, this.room, this.author] = [principal, rights, room, author];
    [this.#ws, this.#socket, this.#on] = [ws, socket, on];
    this.#windowAt = on.clock.monotonic();
    ws.on('pong', () => void (this.#isThere = true));
    ws.on('error', nothing); // a frame that is too large or broken: closed by the protocol
    ws.on('close', () => this.#end());
    ws.on('message', (data, isBinary) => this.#receive(data, isBinary));
  }

  /** Writes behind what `ws` writes, which keeps nothing back: nothing is compressed. */
  send({ bytes }: Encoded, onSent = nothing): void {
    if (!this.#isOpen || this.#ws.readyState !== this.#ws.OPEN) return; // of one that is gone, its end is heard
    if (this.#socket.writableLength - this.#loading > MOST_UNSENT)
      return this.close(CLOSE.tooMany, 'Too slow: load the document anew');
    this.#socket.write(bytes, onSent);
  }

  /**
   * Sends what it lacks of the document. The first time does not count as unsent: a document may be larger than that
   * limit, and a slow reader would be closed each time before it has loaded it.
   */
  sendDocument(encoded: Encoded): void {
    if (this.#isAnswered) return this.send(encoded);
    this.#isAnswered = true;
    this.send(encoded, () => void (this.#loading = 0));
    this.#loading = encoded.bytes.length;
  }

  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.#end();
    closeSocket(this.#ws, code, reason);
  }

  /** Sends what asks whether the other side is there; one that did not answer the last time is cut off. */
  probe(asking: Encoded): void {
    if (!this.#isThere) return this.#ws.terminate();
    this.#isThere = false;
    this.send(asking);
  }

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#on.onClose(this);
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (!this.#isOpen) return;
    this.#isThere = true;
    if (!isBinary) return this.close(CLOSE.malformed, 'Frames are binary');
    const now = this.#on.clock.monotonic();
    if (now - this.#windowAt >= WINDOW_MS) [this.#windowAt, this.#frames] = [now, 0];
    if (++this.#frames > MOST_FRAMES) return this.close(CLOSE.tooFast, 'More than 60 frames a second');
    this.#on.onFrame(this, bytesOf(data));
  }
}
