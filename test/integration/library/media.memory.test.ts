import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import sharp from 'sharp';
import { type SignedUp, signUp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { formOf, HEADS } from '../../support/worlds/samples.ts';

/** A program of `test/support` as a child; `peak` is the most memory that it has had. */
function startChild(name: string, args: readonly string[] = []) {
  const program = fileURLToPath(new URL(`../../support/processes/scripts/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  return {
    line,
    async peak() {
      child.stdin.write('?\n');
      return Number(await line());
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
const MIB = 1024 ** 2;
const SIZE = 256 * MIB;
/**
 * What the collector has not taken away yet differs from run to run; whoever held the file would have grown by all of
 * it.
 */
const MOST_GROWTH = 160 * MIB;

/** A film of so many bytes, made piece by piece. */
function* film(bytes: number): Generator<Buffer> {
  yield HEADS['mp4']!;
  const piece = Buffer.alloc(MIB, 5);
  for (let left = bytes - HEADS['mp4']!.length; left > 0; left -= piece.length)
    yield left < piece.length ? piece.subarray(0, left) : piece;
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
  return JSON.parse(said) as { id: string; path: string; size: number };
}

async function uploadParts({ client }: SignedUp, bytes: number) {
  const { body: name } = await client.post('/files/create-multipart-upload', {
    file: { name: 'film.mp4', size: bytes, type: 'video/mp4' },
  });
  const { uploadId, key } = name;
  const { body: signed } = await client.post('/files/sign-part', { uploadId, key, partNumber: 1 });
  const part = await send(
    'PUT',
    signed.url.replace('https://api.example', client.address),
    { 'content-length': bytes },
    film(bytes),
  );
  expect(part.status).toBe(200);
  const done = await client.post('/files/complete-multipart-upload', {
    uploadId,
    key,
    parts: [{ PartNumber: 1, ETag: part.etag }],
  });
  expect([done.status, done.body.size]).toEqual([200, bytes]);
}

test('a file of 256 MB passes in and out, whole or in parts, without being held in memory [S147, S149, S152]', async () => {
  await using db = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'rookery-media-'));
  try {
    await using child = startChild('media-process', [db.url, folder]);
    const { peak } = child;
    const ann = await signUp(await child.line(), {});
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
    await rm(folder, { recursive: true });
  }
}, 300_000);

/**
 * A server with Mastodon's API, as much of it as a post with media needs; it keeps nothing of what it gets but the
 * length.
 */
async function startMastodon() {
  const uploads: number[] = [];
  let statuses = 0;
  const json = (response: ServerResponse, body: unknown) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const server = createServer((asked, response) => {
    void (async () => {
      const { pathname } = new URL(asked.url!, 'http://x');
      if (pathname === '/api/v2/media') {
        let length = 0;
        for await (const piece of asked) length += (piece as Buffer).length;
        return json(response, { id: String(uploads.push(length)), url: 'https://files.example/1' });
      }
      asked.resume();
      if (pathname === '/api/v1/apps') return json(response, { client_id: 'app', client_secret: 'secret' });
      if (pathname === '/oauth/token') return json(response, { access_token: 'token', token_type: 'Bearer' });
      if (pathname.endsWith('/verify_credentials')) return json(response, { id: '1', username: 'ann', acct: 'ann' });
      if (pathname === '/api/v2/instance')
        return json(response, {
          configuration: {
            media_attachments: {
              image_size_limit: 300_000,
              image_matrix_limit: 1_000_000,
              video_size_limit: 200 * MIB,
              supported_mime_types: ['image/png', 'video/mp4'],
            },
          },
        });
      if (pathname === '/api/v1/statuses')
        return json(response, { id: String((statuses += 1)), url: `http://${asked.headers.host}/1` });
      return void response.writeHead(404).end('{}');
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    uploads,
    get statuses() {
      return statuses;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a film that is published to several channels at once, and a picture that unpacks to 100 megapixels, are not held in memory', async () => {
  const size = 128 * MIB;
  const servers = await Promise.all(Array.from({ length: 4 }, () => startMastodon()));
  await using child = startChild('memory-process');
  const ann = await signUp(await child.line(), {});
  const connect = async ({ url }: { url: string }): Promise<string> => {
    const begun = await ann.client.get(`/integrations/social/mastodon?externalUrl=${encodeURIComponent(url)}`);
    const state = new URL(begun.body.url as string).searchParams.get('state');
    const made = await ann.client.post('/integrations/social-connect/mastodon', { code: 'code', state });
    expect(made.status).toBe(200);
    return made.body.id as string;
  };
  const channels: string[] = [];
  for (const server of servers) channels.push(await connect(server));
  const key = await ann.withKey();
  const publish = async (file: { id: string; path: string }, to: readonly string[], statuses: number) => {
    const posts = to.map((id) => ({
      integration: { id },
      value: [{ content: 'x', image: [{ id: file.id, path: file.path }] }],
    }));
    const made = await key.post('/public/v1/posts', { type: 'now', date: new Date().toISOString(), posts });
    expect(made.status).toBe(201);
    await eventually(
      'the posts are out',
      () => servers.reduce((sum, server) => sum + server.statuses, 0) === statuses,
      120_000,
    );
  };
  await publish(await uploadWhole(ann, 2 * MIB), channels, 4); // loads what is loaded when it is first needed
  const before = await child.peak();

  await publish(await uploadWhole(ann, size), channels, 8);
  for (const { uploads } of servers) expect(uploads.at(-1)).toBeGreaterThan(size);
  const folder = await mkdtemp(join(tmpdir(), 'rookery-large-'));
  const path = join(folder, 'large.png');
  await sharp({ create: { width: 10_000, height: 10_000, channels: 3, background: '#a33' }, limitInputPixels: false })
    .withMetadata({ orientation: 6 })
    .png()
    .toFile(path);
  const picture = await ann.client.post('/files/upload-server', formOf(await readFile(path)));
  await publish(picture.body, channels.slice(0, 1), 9);
  expect(servers[0]!.uploads.at(-1)).toBeLessThan(310_000);
  expect((await child.peak()) - before).toBeLessThan(MOST_GROWTH);
  await rm(folder, { recursive: true });
  for (const server of servers) await server[Symbol.asyncDispose]();
}, 300_000);
