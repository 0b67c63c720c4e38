// A server for the benchmark `publish-file`: takes a file in ranges (`/session`), in parts (`/parts/…`) and as a whole
// (`/whole`), keeps nothing but the number of its bytes, and answers as networks do.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from '../../kit/answering.ts';

let received = 0;
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  for await (const piece of request) received += (piece as Buffer).length;
  const { url = '', headers } = request;
  if (url === '/begin') return void response.writeHead(201, { location: `http://${headers.host}/session` }).end('{}');
  const [, last, size] = /^bytes \d+-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  if (url === '/session' && Number(last) + 1 < Number(size))
    return void response.writeHead(308, { range: `bytes=0-${last}` }).end();
  response.writeHead(200, { 'content-type': 'application/json', etag: '"part"' }).end('{"id":"1"}');
}
const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');

answering({
  address: async () => {
    if (!server.listening) await new Promise((done) => server.once('listening', done));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  },
  /** Answers how many bytes came since it was asked last. */
  bytes: () => {
    const bytes = received;
    received = 0;
    return { bytes };
  },
});
