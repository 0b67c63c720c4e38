import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import * as Y from 'yjs';
import { type Clock, newId, systemClock } from '../../src/platform/kernel/index.ts';
import type { Principal } from '../http/route.ts';
import { Connection } from './connection.ts';
import type { OpenDocument } from './document.ts';
import { awarenessFrame, awarenessUpdate } from './frames.ts';
import { openLiveRoom } from './live-room.ts';
import { encode, withPing } from './wire.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const doc = new Y.Doc();
const document = {
  key: { orgId: newId(), room: 'post:1' },
  status: { savedVersion: null, savedAt: null, readOnly: null, problem: null },
  vector: Y.encodeStateVector(doc),
} as unknown as OpenDocument;
const updateOf = (word: string): Uint8Array => {
  const made = new Y.Doc();
  made.getMap('settings').set(word, word);
  return Y.encodeStateAsUpdate(made);
};
const turn = () => new Promise((done) => void setImmediate(done));

/** A client whose socket keeps what is written to it, piece by piece; `line`: sends a piece, and says when it is done. */
function openReader(line: (done: () => void) => void = (done) => done()) {
  const written: Buffer[] = [];
  const closed: number[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      written.push(chunk);
      line(done);
    },
  });
  const ws = Object.assign(new EventEmitter(), {
    readyState: WebSocket.OPEN,
    OPEN: WebSocket.OPEN,
    terminate() {},
    close: (code: number) => void closed.push(code),
  });
  const connection = new Connection({
    ws: ws as unknown as WebSocket,
    socket,
    clock: systemClock,
    principal: { userId: 'ann' } as Principal,
    rights: 'read',
    room: { kind: 'post', id: '1', name: 'post:1' },
    author: null,
    onFrame() {},
    onClose() {},
  });
  return { connection, written, closed, ws };
}
function openRoom(clock: Clock = systemClock) {
  const room = openLiveRoom({ clock, log, document, peers: undefined });
  const readers = Array.from({ length: 100 }, () => openReader());
  for (const { connection, written } of readers) {
    room.enter(connection);
    expect(written.splice(0)).toHaveLength(1); // what is to be told at the beginning is one piece
  }
  return { room, readers };
}

describe('what a room tells its hundred readers', () => {
  test('is encoded once: each socket writes the same bytes in one piece', async () => {
    const { room, readers } = openRoom();
    room.spread(updateOf('one'), undefined);
    await turn();
    const pieces = readers.flatMap(({ written }) => written);
    expect([pieces.length, new Set(pieces).size]).toEqual([100, 1]);
    room.stop();
  });

  test('is one message for all updates of a turn of the process', async () => {
    const { room, readers } = openRoom();
    for (const word of ['one', 'two', 'three']) room.spread(updateOf(word), undefined);
    await turn();
    expect(readers.map(({ written }) => written.length)).toEqual(readers.map(() => 1));
    const [bytes] = readers[0]!.written;
    for (const word of ['one', 'two', 'three']) expect(bytes!.includes(word)).toBe(true);
    room.stop();
  });

  test('is one message for what all of them say of themselves within a moment; who repeats it tells nobody', async () => {
    const moments: (() => void)[] = [];
    const sleep = () => new Promise<void>((over) => void moments.push(over));
    const { room, readers } = openRoom({ ...systemClock, sleep });
    const say = (cursor: number, speakerOf = (n: number) => n) => {
      for (const n of readers.keys()) {
        const state = JSON.stringify({ cursor: `${cursor} of ${n}` });
        const update = awarenessUpdate([{ client: n + 1, clock: cursor, state }]);
        room.receive(readers[speakerOf(n)]!.connection, awarenessFrame(update));
      }
    };
    say(1);
    say(2);
    expect([moments.length, readers.flatMap(({ written }) => written)]).toEqual([1, []]);
    moments.pop()!();
    await turn();
    const pieces = readers.flatMap(({ written }) => written.splice(0));
    expect([pieces.length, new Set(pieces).size]).toEqual([100, 1]);
    for (const n of readers.keys()) expect(pieces[0]!.includes(`"2 of ${n}"`)).toBe(true);
    expect(pieces[0]!.includes('"1 of ')).toBe(false);
    say(2, (n) => (n + 1) % 100); // as each client of y-websocket does
    expect(moments).toEqual([]);
    room.stop();
  });

  test('is one piece with the question whether they are there; who did not answer the last one is cut off', () => {
    const { room, readers } = openRoom();
    const cut: number[] = [];
    for (const [n, { ws }] of readers.entries()) ws.terminate = () => void cut.push(n);
    room.heartbeat();
    const pieces = readers.flatMap(({ written }) => written);
    expect([pieces.length, new Set(pieces).size, [...pieces[0]!.subarray(-2)]]).toEqual([100, 1, [0x89, 0]]);
    for (const { ws } of readers.slice(1)) ws.emit('pong');
    room.heartbeat();
    expect(cut).toEqual([0]);
    room.stop();
  });
});

describe('a reader on a slow line', () => {
  const large = encode(Buffer.alloc(5_000_000));
  const edit = encode(Buffer.alloc(1_000_000));

  test('loads a document that is larger than what may wait for it, and what is told meanwhile', () => {
    const { connection, closed } = openReader(() => {}); // nothing arrives
    connection.sendDocument(large);
    for (let n = 0; n < 4; n += 1) connection.send(edit);
    expect(closed).toEqual([]);
    for (let n = 0; n < 2; n += 1) connection.send(edit);
    expect(closed).toEqual([1013]);
  });

  test('has no more waiting for it than others once it has loaded the document, also when it asks anew', async () => {
    const pieces: (() => void)[] = [];
    const { connection, closed } = openReader((done) => void pieces.push(done));
    connection.sendDocument(large);
    pieces.shift()!();
    await turn();
    connection.sendDocument(large);
    expect(closed).toEqual([]);
    connection.send(edit);
    expect(closed).toEqual([1013]);
  });
});

test.each([0, 1, 125, 126, 65_535, 65_536, 900_000])('a message of %i bytes comes as it was sent', async (length) => {
  const server = createServer().listen(0, '127.0.0.1');
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const message = Buffer.alloc(length, 'word ');
  server.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (ws) => {
      socket.write(withPing(encode(message)).bytes);
      ws.once('pong', () => ws.close(1000));
    }),
  );
  await new Promise((listening) => server.once('listening', listening));
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const heard: [Buffer, boolean][] = [];
  client.on('message', (data: Buffer, isBinary) => heard.push([data, isBinary]));
  const code = await new Promise((closed) => client.once('close', closed));
  server.close();
  expect([code, heard.length, heard[0]?.[1], heard[0]?.[0].equals(message)]).toEqual([1000, 1, true, true]);
});
