import {
  createServer as createPlain,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** One request as it came in. `at` is the receiver's own clock. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  at: number;
  connection: number;
}
export type ReceiverAnswer = (response: ServerResponse, request: Received, message: IncomingMessage) => void;

/** A real server of someone else: keeps a ledger of what it got, and answers as told. */
export async function startReceiver({
  tls,
  answer = (response) => void response.writeHead(200).end(),
}: { tls?: { key: string; cert: string }; answer?: ReceiverAnswer } = {}) {
  const ledger: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let inFlight = 0;
  let mostInFlight = 0;
  const numbers = new WeakMap<Socket, number>();
  const receiver = {
    ledger,
    answer,
    port: 0,
    url: '',
    get connections() {
      return connections;
    },
    get mostInFlight() {
      return mostInFlight;
    },
    [Symbol.asyncDispose]: async () => {},
  };

  const handle = (message: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    response.once('close', () => void (inFlight -= 1));
    message.on('data', (piece: Buffer) => void pieces.push(piece));
    message.on('end', () => {
      const received: Received = {
        method: message.method!,
        path: message.url!,
        headers: message.headers,
        body: Buffer.concat(pieces),
        at: performance.now(),
        connection: numbers.get(message.socket)!,
      };
      ledger.push(received);
      receiver.answer(response, received, message);
    });
  };
  const server = (tls ? createServer(tls, handle) : createPlain(handle)) as Server;
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => numbers.set(socket, ++connections));
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.port = (server.address() as AddressInfo).port;
  receiver.url = `${tls ? 'https' : 'http'}://127.0.0.1:${receiver.port}`;
  receiver[Symbol.asyncDispose] = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return receiver;
}
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
