// The floor of the benchmark `live`: a server of node:http that writes the same bytes to each of its open streams.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from '../../kit/answering.ts';
import { usage } from '../../kit/usage.ts';

const streams = new Set<ServerResponse>();
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  response.write('event: count\nid: 1-0\ndata: {"total":0}\n\n');
  streams.add(response);
  response.on('close', () => streams.delete(response));
}).listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });

answering({
  async port() {
    if (!server.listening) await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  },
  use: usage,
  /** Writes to everybody; answers when it began. */
  announce({ text }: { text: string }) {
    const at = Date.now();
    for (const stream of streams) stream.write(text);
    return at;
  },
});
