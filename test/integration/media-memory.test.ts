import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { type SignedUp, signUp } from '../support/app.ts';
import { testDatabase } from '../support/database.ts';
import { HEADS } from '../support/samples.ts';

const PROCESS = fileURLToPath(new URL('../support/media-process.ts', import.meta.url));
const MIB = 1024 ** 2;
const SIZE = 256 * MIB;
/** What the collector has not taken away yet differs from run to run; whoever held the file would have grown by all of it. */
const MOST_GROWTH = 160 * MIB;

/** A film of so many bytes, made piece by piece. */
function* film(bytes: number): Generator<Buffer> {
  yield HEADS['mp4']!;
  const piece = Buffer.alloc(MIB, 5);
  for (let left = bytes - HEADS['mp4']!.length; left > 0; left -= piece.length) yield left < piece.length ? piece.subarray(0, left) : piece;
}

/** Streams a body and answers what comes back. */
async function send(
  method: string,
  url: string,
  headers: Record<string, string | number>,
  body: Iterable<Buffer>,
): Promise<{ status: number; etag: string; text: string }> {
  const sent = request(url, { method, headers });
  const answered = once(sent, 'response');
  await pipeline(Readable.from(body), sent);
  const [response] = (await answered) as [import('node:http').IncomingMessage];
  return { status: response.statusCode!, etag: String(response.headers.etag), text: await text(response) };
}

async function uploadWhole({ client }: SignedUp, bytes: number) {
  const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="film.mp4"\r\n\r\n');
  const tail = Buffer.from('\r\n--b--\r\n');
  const headers = {
    cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'x-csrf-token': client.csrf!,
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': head.length + bytes + tail.length,
  };
  const { status, text: said } = await send(
    'POST',
    `${client.address}/files/upload-server`,
    headers,
    (function* () {
      yield head;
      yield* film(bytes);
      yield tail;
    })(),
  );
  expect(status).toBe(201);
  return JSON.parse(said) as { path: string; size: number };
}

async function uploadParts({ client }: SignedUp, bytes: number) {
  const { body: name } = await client.post('/files/create-multipart-upload', { file: { name: 'film.mp4', size: bytes, type: 'video/mp4' } });
  const { uploadId, key } = name;
  const { body: signed } = await client.post('/files/sign-part', { uploadId, key, partNumber: 1 });
  const part = await send('PUT', signed.url.replace('https://api.example', client.address), { 'content-length': bytes }, film(bytes));
  expect(part.status).toBe(200);
  const done = await client.post('/files/complete-multipart-upload', { uploadId, key, parts: [{ PartNumber: 1, ETag: part.etag }] });
  expect([done.status, done.body.size]).toEqual([200, bytes]);
}

test('a file of 256 MB passes in and out, whole or in parts, without being held in memory [S147, S149, S152]', async () => {
  await using db = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'rookery-media-'));
  const process_ = spawn(process.execPath, [PROCESS, db.url, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(process_, 'exit');
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  const peak = async () => {
    process_.stdin.write('?\n');
    return Number(await line());
  };
  try {
    const ann = await signUp(await line(), {});
    await uploadWhole(ann, 2 * MIB); // loads what is loaded when it is first needed
    await uploadParts(ann, 2 * MIB);
    const before = await peak();
    const { path, size } = await uploadWhole(ann, SIZE);
    expect(size).toBe(SIZE);
    await uploadParts(ann, SIZE);
    const served = await fetch(ann.client.address + new URL(path).pathname);
    let received = 0;
    for await (const piece of served.body!) received += piece.length;
    expect(received).toBe(SIZE);
    expect((await peak()) - before).toBeLessThan(MOST_GROWTH);
  } finally {
    process_.stdin.end();
    await ended;
    await rm(folder, { recursive: true });
  }
}, 300_000);
