// The floor of the benchmark `collab`: a server of ws that hands the frames of a writer to everybody who is there, and
// does nothing else.
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import * as Y from 'yjs';
import { answering } from '../../kit/answering.ts';
import { usage } from '../../kit/usage.ts';

const doc = new Y.Doc();
const state = Y.encodeStateAsUpdate(doc);
/** What whoever comes is told: nothing is there. */
const step2 = Buffer.from([0, 1, state.length, ...state]);
const rooms = new Map<string, Set<WebSocket>>();

const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
sockets.on('connection', (socket, { url }) => {
  const room = rooms.get(url!) ?? new Set();
  rooms.set(url!, room.add(socket));
  socket.on('close', () => room.delete(socket));
  socket.on('message', (frame: Buffer) => {
    if (frame[0] === 0 && frame[1] === 0) return socket.send(step2);
    for (const one of room) one.send(frame);
  });
});

answering({
  places: ({ documents, readers }: { documents: number; readers: number }) =>
    Array.from({ length: documents }, (_, document) =>
      Array.from({ length: readers }, () => ({
        url: `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}/${document}`,
      })),
    ),
  use: usage,
});
