import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { constants, deflateRawSync } from 'node:zlib';

export interface Peer {
  send(text: string): void;
  /** The same, packed (RFC 7692); only where the server offers it. */
  sendPacked(text: string): void;
  /**
   * Sends the same again and again, as fast as it is read and deaf to a closing frame; ends when the connection does.
   */
  pour(text: string): Promise<void>;
  hangUp(): void;
}
interface Options {
  onText(peer: Peer, text: string): void;
  onConnect?(peer: Peer): void;
  /** Whether messages may be packed. */ packs?: boolean;
  /** A status instead of the handshake. */ refuse?(request: IncomingMessage): number | undefined;
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A websocket server on 127.0.0.1 for text messages (RFC 6455), enough to stand for a service on the wire. */
export async function startWebSocketServer({ onText, onConnect, packs = false, refuse }: Options) {
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    const status = refuse?.(request);
    if (status !== undefined)
      return void socket.end(
        `HTTP/1.1 ${status} No\r\nconnection: close\r\ncontent-length: 0\r\nlocation: http://127.0.0.1:1/\r\n\r\n`,
      );
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n${packs ? 'sec-websocket-extensions: permessage-deflate\r\n' : ''}\r\n`,
    );
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let isDeaf = false;
    const peer: Peer = {
      send: (text) => void socket.write(frame(1, Buffer.from(text))),
      sendPacked: (text) =>
        void socket.write(frame(0x41, deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4))),
      async pour(text) {
        const whole = frame(1, Buffer.from(text));
        isDeaf = true;
        while (!socket.destroyed && socket.writable)
          if (!socket.write(whole)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
      },
      hangUp: () => void socket.destroy(),
    };
    let waiting: Buffer = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      waiting = Buffer.concat([waiting, data]);
      for (let read = readFrame(waiting); read; read = readFrame(waiting)) {
        waiting = waiting.subarray(read.length);
        if (read.opcode === 8 && !isDeaf) socket.end(frame(8, read.payload.subarray(0, 2)));
        else if (read.opcode === 1) onText(peer, read.payload.toString());
      }
    });
    onConnect?.(peer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : length < 65_536
        ? Buffer.from([0x80 | opcode, 126, length >> 8, length & 255])
        : Buffer.alloc(10);
  if (length >= 65_536) {
    head[0] = 0x80 | opcode;
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** One masked frame of a client; undefined while it is not whole. */
function readFrame(data: Buffer): { opcode: number; payload: Buffer; length: number } | undefined {
  if (data.length < 2) return undefined;
  const short = data[1]! & 127;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + extra + 4;
  if (data.length < start) return undefined;
  const size = short === 126 ? data.readUInt16BE(2) : short === 127 ? Number(data.readBigUInt64BE(2)) : short;
  if (data.length < start + size) return undefined;
  const mask = data.subarray(start - 4, start);
  const payload = Buffer.from(data.subarray(start, start + size).map((byte, n) => byte ^ mask[n % 4]!));
  return { opcode: data[0]! & 15, payload, length: start + size };
}
