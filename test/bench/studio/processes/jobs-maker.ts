// The provider of the benchmark `jobs`, in a process of its own: jobs run on for ever, and each poll is noted.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { HEADS } from '../../../support/worlds/samples.ts';
import { answering } from '../../kit/answering.ts';

const MIB = 1024 * 1024;
/** When each job was asked about first, by its name. */
const asked = new Map<string, number>();

function* film(bytes: number): Generator<Uint8Array> {
  const head = HEADS['mp4']!;
  yield head;
  const piece = randomBytes(MIB);
  for (let left = bytes - head.length; left > 0; left -= piece.length)
    yield left >= piece.length ? piece : piece.subarray(0, left);
}

const server = createServer((request, response) => {
  const [, first, name = ''] = request.url!.split('/');
  if (first === 'films') {
    const bytes = Number(name) * MIB;
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes });
    return void pipeline(Readable.from(film(bytes)), response, () => undefined);
  }
  if (!asked.has(name)) asked.set(name, Date.now());
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"state":"running"}');
}).listen(0, '127.0.0.1');

answering({
  address: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  asked: () => Object.fromEntries(asked),
  reset: () => asked.clear(),
});
