import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Principal } from '../http/route.ts';
import type { RoomName } from './address.ts';
import type { Rights } from './rights.ts';

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
/** Bytes that wait for a reader before it has to load anew. */
const MOST_UNSENT = 4_000_000;
/** Frames in each window. */
const MOST_FRAMES = 600;
const WINDOW_MS = 10_000;
/** How long the other side has for its closing frame. */
const CLOSING_MS = 2_000;

export interface Connection {
  principal: Principal;
  rights: Rights;
  readonly room: RoomName;
  /** Who made what the room stands for, where that matters to rights. */
  readonly author: string | null | undefined;
  /** It was told that it may not write. */
  isTold: boolean;
  send(frame: Uint8Array): void;
  close(code: number, reason: string): void;
  /** Asks whether the other side is there; one that did not answer the last time is cut off. */
  probe(): void;
}

interface Options {
  socket: WebSocket;
  clock: Clock;
  principal: Principal;
  rights: Rights;
  room: RoomName;
  author: string | null | undefined;
  onFrame(frame: Uint8Array): void;
  onClose(): void;
}

/** Ends a connection, also one whose other side does not answer. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), CLOSING_MS).unref();
}

const bytesOf = (data: RawData): Uint8Array =>
  data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(Array.isArray(data) ? Buffer.concat(data) : data); // a copy: a frame may lie in memory of others

/** One client of a room: what it sends within its limits, and what waits to be sent to it. */
export function openConnection({ socket, clock, onFrame, onClose, ...who }: Options): Connection {
  let isOpen = true;
  let isThere = true;
  let [windowAt, frames] = [clock.monotonic(), 0];
  const connection: Connection = {
    ...who,
    isTold: false,
    send(frame) {
      if (!isOpen) return;
      if (socket.bufferedAmount > MOST_UNSENT)
        return connection.close(CLOSE.tooMany, 'Too slow: load the document anew');
      socket.send(frame, () => {}); // of one that is gone, its end is heard
    },
    close(code, reason) {
      if (!isOpen) return;
      end();
      closeSocket(socket, code, reason);
    },
    probe() {
      if (!isThere) return socket.terminate();
      isThere = false;
      socket.ping(() => {});
    },
  };
  const end = () => {
    if (!isOpen) return;
    isOpen = false;
    onClose();
  };
  socket.on('pong', () => void (isThere = true));
  socket.on('error', () => {}); // a frame that is too large or broken: closed by the protocol
  socket.on('close', end);
  socket.on('message', (data, isBinary) => {
    if (!isOpen) return;
    isThere = true;
    if (!isBinary) return connection.close(CLOSE.malformed, 'Frames are binary');
    const now = clock.monotonic();
    if (now - windowAt >= WINDOW_MS) [windowAt, frames] = [now, 0];
    if (++frames > MOST_FRAMES) return connection.close(CLOSE.tooFast, 'More than 60 frames a second');
    onFrame(bytesOf(data));
  });
  return connection;
}
