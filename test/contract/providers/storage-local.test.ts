// oxlint-disable max-lines -- one storage, in all that its contract asks
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import type { BodyReading } from '../../../src/providers/kit/declare/media.ts';
import { openHttp } from '../../../src/providers/kit/wire/open-http.ts';
import type { Store, Upload } from '../../../src/providers/registry/index.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';
import { fc } from '../../support/properties.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';

const run = promisify(execFile);
const stream = (...pieces: Uint8Array[]) => ({
  async *[Symbol.asyncIterator]() {
    yield* pieces;
  },
});
const content = (bytes: Uint8Array) => ({ from: stream(bytes), bytes: bytes.length, mime: 'text/plain' });
const hello = Buffer.from('hello storage');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

let base: string;
let folder: string;
let store: Store;
const openAt = (at?: string): Store => {
  const providers = localProviders(at === undefined ? {} : { folder: at });
  return providers.storage(providers.resolve('storage', 'local'), { orgId: null, values: {} });
};
/** Every file below the folder that is no folder. */
const files = async (at: string) =>
  (await readdir(at, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(at, join(entry.parentPath, entry.name)))
    .toSorted();
const read = async (key: string, range?: { start: number; end: number }) => {
  const found = await store.open(key);
  return found && buffer(found.read(range));
};

beforeEach(async () => {
  base = await mkdtemp(`${tmpdir()}/rookery-local-`);
  folder = `${base}/uploads`;
  await mkdir(folder);
  store = openAt(folder);
});
afterEach(async () => rm(base, { recursive: true, force: true }));

test('puts an object, reads it whole and in part, replaces and removes it', async () => {
  await store.put('o1/a.txt', content(hello));
  await using found = await store.open('o1/a.txt');
  expect([found!.size, (await buffer(found!.read())).toString()]).toEqual([hello.length, 'hello storage']);
  expect(found!.modified.getTime()).toBe((await stat(`${folder}/o1/a.txt`)).mtime.getTime());
  expect((await read('o1/a.txt', { start: 6, end: 8 }))!.toString()).toBe('sto');
  await store.put('o1/a.txt', content(Buffer.from('other')));
  expect((await read('o1/a.txt'))!.toString()).toBe('other');
  await store.put('o1/empty', content(Buffer.alloc(0)));
  expect(await read('o1/empty')).toHaveLength(0);
  await store.remove(['o1/a.txt', 'o1/none', 'o2/none', 'o1/empty']);
  expect([await store.open('o1/a.txt'), await store.open('o2/none'), await files(folder)]).toEqual([
    undefined,
    undefined,
    [],
  ]);
});

test('moves a finished file, from any folder', async () => {
  const elsewhere = await mkdtemp('/dev/shm/rookery-film-'); // another disk
  for (const from of [`${base}/film`, `${elsewhere}/film`]) {
    await writeFile(from, hello);
    await store.put('o1/film', { from: { path: from }, bytes: hello.length, mime: 'video/mp4' });
    expect((await read('o1/film'))!.toString()).toBe('hello storage');
  }
  await rm(elsewhere, { recursive: true });
  expect(await files(folder)).toEqual(['o1/film']);
});

test.each([-1, 1])('refuses content that is %i bytes off, and leaves nothing', async (off) => {
  await writeFile(`${base}/film`, Buffer.alloc(100 + off));
  for (const from of [stream(Buffer.alloc(50), Buffer.alloc(50 + off)), { path: `${base}/film` }])
    expect((await failureOf(store.put('o1/off', { from, bytes: 100, mime: 'text/plain' }))).failure).toBe('rejected');
  expect(await files(folder)).toEqual([]);
});

test('an object is visible only when it is complete', async () => {
  await store.put('o1/a', content(Buffer.from('before')));
  let seen = '';
  async function* slowly() {
    yield Buffer.from('aft');
    seen = (await read('o1/a'))!.toString();
    yield Buffer.from('er');
  }
  await store.put('o1/a', { from: slowly(), bytes: 5, mime: 'text/plain' });
  expect([seen, (await read('o1/a'))!.toString()]).toEqual(['before', 'after']);
});

describe('writes, reads and removes nothing outside the folder', () => {
  const EVIL = [
    '..',
    '.',
    '',
    '/',
    '\\',
    '\0',
    '%2e%2e',
    'a',
    '...',
    '.parts',
    '.incoming',
    'C:',
    '~',
    ' ',
    '\n',
    'ü',
    '//',
    '../..',
    'etc/passwd',
  ];
  test('by any spelling of a key [X6]', async () => {
    await writeFile(`${base}/secret`, 'secret');
    await mkdir(`${folder}/.parts`);
    await writeFile(`${folder}/.parts/hidden`, 'hidden');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...EVIL), { minLength: 1, maxLength: 6 }),
        fc.constantFrom('/', '\\', ''),
        async (words, between) => {
          const key = words.join(between);
          await store.put(key, content(hello)).catch(() => undefined);
          await store.remove([key, `${key}/../../secret`, '../secret', '.parts/hidden']);
          for (const one of [key, `../${key}`, '../secret', '.parts/hidden'])
            if ((await read(one))?.toString() === 'secret') throw new Error(`${one} was read`);
          expect([
            await readdir(base),
            await readFile(`${base}/secret`, 'utf8'),
            await readFile(`${folder}/.parts/hidden`, 'utf8'),
          ]).toEqual([['secret', 'uploads'], 'secret', 'hidden']);
        },
      ),
      { numRuns: 500 },
    );
  });
  test('through a symbolic link', async () => {
    await mkdir(`${base}/outside`);
    await writeFile(`${base}/outside/file`, 'secret');
    await symlink(`${base}/outside`, `${folder}/o1`);
    await mkdir(`${folder}/o2`);
    await symlink(`${base}/outside/file`, `${folder}/o2/link`);
    expect([await store.open('o1/file'), await store.open('o2/link')]).toEqual([undefined, undefined]);
    expect((await failureOf(store.put('o1/new', content(hello)))).failure).toBe('rejected');
    await store.put('o2/link', content(hello)); // takes the place of the link, not of what it names
    await store.remove(['o1/file']);
    expect([
      await readdir(`${base}/outside`),
      await readFile(`${base}/outside/file`, 'utf8'),
      (await read('o2/link'))!.toString(),
    ]).toEqual([['file'], 'secret', 'hello storage']);
  });
  test('and treats only files as objects', async () => {
    await mkdir(`${folder}/o1/folder`, { recursive: true });
    await run('mkfifo', [`${folder}/o1/pipe`]);
    expect([await store.open('o1/folder'), await store.open('o1/pipe'), await store.open('o1')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await store.remove(['o1/folder', 'o1/pipe']);
    expect(await readdir(`${folder}/o1`)).toEqual(['folder', 'pipe']);
  });
});

describe('uploads in parts', () => {
  const multipart = () => store.multipart!;
  const begin = () => multipart().begin('o1/film', { bytes: 100, mime: 'video/mp4' });
  const put = (upload: Upload, number: number, bytes: Uint8Array) =>
    multipart().put(upload, number, stream(bytes), bytes.length);

  test('accept parts in any order, again, and by another process, and make one object', async () => {
    const parts = [randomBytes(70_000), randomBytes(70_000), randomBytes(9)];
    const upload = await begin();
    expect(await multipart().parts(upload)).toEqual([]);
    await put(upload, 3, parts[2]!);
    const first = await put(upload, 1, randomBytes(70_000));
    store = openAt(folder); // whoever began it is gone
    const again = await put(upload, 1, parts[0]!);
    expect(again.etag).not.toBe(first.etag);
    await put(upload, 2, parts[1]!);
    const arrived = (await multipart().parts(upload))!;
    expect(arrived.map(({ number, bytes }) => [number, bytes])).toEqual([
      [1, 70_000],
      [2, 70_000],
      [3, 9],
    ]);
    expect((await failureOf(multipart().complete(upload, [first, ...arrived.slice(1)]))).failure).toBe('rejected');
    expect(await multipart().uploads()).toEqual([{ ...upload, begun: expect.anything() }]);
    await multipart().complete(upload, arrived);
    expect(sha256((await read('o1/film'))!)).toBe(sha256(Buffer.concat(parts)));
    expect([await multipart().parts(upload), await multipart().uploads(), await files(folder)]).toEqual([
      undefined,
      [],
      ['o1/film'],
    ]);
  });

  test('are identified by key and id, and an id leads to no other folder', async () => {
    const upload = await begin();
    const part = await put(upload, 1, hello);
    for (const other of [
      { ...upload, key: 'o2/film' },
      { ...upload, id: '0'.repeat(32) },
      { ...upload, id: '../../o1' },
      { ...upload, id: '' },
      { ...upload, key: upload.id },
    ]) {
      expect(await multipart().parts(other)).toBeUndefined();
      await multipart().abort(other);
      for (const work of [put(other, 1, hello), multipart().complete(other, [part])])
        expect((await failureOf(work)).failure).toBe('rejected');
    }
    expect(await multipart().parts(upload)).toEqual([part]);
  });

  test('refuse a part with an invalid number or another length', async () => {
    const upload = await begin();
    for (const number of [0, -1, 1.5, 100_000, NaN])
      expect((await failureOf(put(upload, number, hello))).failure).toBe('rejected');
    for (const bytes of [12, 14])
      expect((await failureOf(multipart().put(upload, 1, stream(hello), bytes))).failure).toBe('rejected');
    expect([
      await multipart().parts(upload),
      (await files(folder)).filter((file) => file.startsWith('.incoming')),
    ]).toEqual([[], []]);
  });

  test('are gone after an abort, with all their parts', async () => {
    const upload = await begin();
    await put(upload, 1, hello);
    async function* late() {
      yield Buffer.from('hello');
      await multipart().abort(upload);
      yield Buffer.from(' storage');
    }
    expect((await failureOf(multipart().put(upload, 2, late(), 13))).failure).toBe('rejected');
    await multipart().abort(upload);
    expect([await multipart().parts(upload), await multipart().uploads(), await files(folder)]).toEqual([
      undefined,
      [],
      [],
    ]);
  });

  test('are listed when they were interrupted at the start, and can be aborted', async () => {
    const upload = await begin();
    await rm(`${folder}/.parts/${upload.id}/key`);
    const [found] = await multipart().uploads();
    expect(found).toEqual({ key: upload.id, id: upload.id, begun: expect.anything() });
    await multipart().abort(found!);
    expect(await multipart().uploads()).toEqual([]);
  });

  test('make one object when completed a hundred times at once', async () => {
    const upload = await begin();
    await put(upload, 1, hello);
    const parts = (await multipart().parts(upload))!;
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => multipart().complete(upload, parts)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'ProviderError' });
    expect([(await read('o1/film'))!.toString(), await files(folder)]).toEqual(['hello storage', ['o1/film']]);
  });
});

test('check writes, reads and removes an object, and answers the free space', async () => {
  expect(await store.check()).toMatch(/^A file was written, read and removed; \d+ GB are free$/);
  expect(await files(folder)).toEqual([]);
});

test('there is no local storage without a folder', () => expect(() => openAt()).toThrow('No folder'));

test('has no settings, and its files have no public address', () => {
  const providers = localProviders({ folder });
  expect([providers.resolve('storage', 'local').setup, store.url('o1/a'), store.direct]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

/** A disk of 2 MB, where this machine lets us have one. */
async function smallDisk(): Promise<Peer> {
  const at = await mkdtemp(`${tmpdir()}/rookery-full-`);
  await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'rookery-full', at]);
  const stop = async () => {
    await run('umount', ['-l', at]); // a file that was read is closed a moment after its last byte
    await rm(at, { recursive: true });
  };
  return { url: at, env: {}, stop, [Symbol.asyncDispose]: stop };
}

await describePeer(
  'tmpfs',
  async () => {
    await (await smallDisk()).stop();
    return { start: smallDisk };
  },
  ({ start }) => {
    test('a full disk is reported, keeps its objects, and has no leftovers', async () => {
      await using disk = await start();
      store = openAt(disk.url);
      await store.put('o1/before', content(hello));
      const upload = await store.multipart!.begin('o1/film', { bytes: 3_000_000, mime: 'video/mp4' });
      await store.multipart!.put(upload, 1, stream(Buffer.alloc(1_200_000)), 1_200_000);
      const parts = (await store.multipart!.parts(upload))!;
      const big = content(Buffer.alloc(3_000_000));
      const film = `${base}/film`; // lies on another disk
      await writeFile(film, Buffer.alloc(3_000_000));
      const moved = store.put('o1/before', { from: { path: film }, bytes: 3_000_000, mime: 'video/mp4' });
      for (const work of [
        moved,
        store.put('o1/before', big),
        store.multipart!.put(upload, 2, big.from, big.bytes),
        store.multipart!.complete(upload, parts),
      ]) {
        const failure = await failureOf(work);
        expect([failure.failure, failure.message]).toEqual(['exhausted', 'The disk is full']);
      }
      expect([(await read('o1/before'))!.toString(), await store.multipart!.parts(upload)]).toEqual([
        'hello storage',
        parts,
      ]);
      expect((await files(disk.url)).filter((file) => file.startsWith('.incoming'))).toEqual([]);
      await store.put('o1/after', content(Buffer.alloc(500_000)));
    });
  },
);

describe('lends the pieces of a file', () => {
  // 41 pieces, no two alike, and the last one short
  const film = Buffer.from(Uint32Array.from({ length: 2_640_001 }, (_, n) => Math.imul(n, 2_654_435_761)).buffer);

  test('whole and in part, each in memory that is used again for the fourth after it', async () => {
    await store.put('o1/film.mp4', content(film));
    await using whole = await store.open('o1/film.mp4');
    const arrived = createHash('sha256');
    const pieces: Uint8Array[] = [];
    for await (const piece of whole!.lend!([])) {
      arrived.update(piece);
      pieces.push(piece);
    }
    expect(arrived.digest('hex')).toBe(sha256(film));
    expect(new Set(pieces.map((piece) => piece.buffer)).size).toBe(4);
    await using part = await store.open('o1/film.mp4');
    const some: number[] = [];
    for await (const piece of part!.lend!([], { start: 262_100, end: 262_199 })) some.push(...piece);
    expect(Buffer.from(some)).toEqual(film.subarray(262_100, 262_200));
    await store.put('o1/empty', content(Buffer.alloc(0)));
    await using empty = await store.open('o1/empty');
    for await (const piece of empty!.lend!([])) throw new Error(`A piece of ${piece.length} bytes`);
  });

  test('in the same memory for readings that follow one another, and never for two at a time', async () => {
    await store.put('o1/film.mp4', content(film));
    const memory: Buffer[] = [];
    const open = async () => (await store.open('o1/film.mp4'))!.lend!(memory)[Symbol.asyncIterator]();
    const usedBy = async (pieces: AsyncIterator<Uint8Array>) => {
      const used = new Set<ArrayBufferLike>();
      for (let next = await pieces.next(); !next.done; next = await pieces.next()) used.add(next.value.buffer);
      return used;
    };
    const first = await usedBy(await open());
    expect(await usedBy(await open())).toEqual(first);
    const [one, other] = [await open(), await open()];
    const held = (await one.next()).value as Uint8Array;
    const before = Buffer.from(held);
    const others = await usedBy(other);
    expect(others.has(held.buffer)).toBe(false);
    expect(before.equals(held)).toBe(true);
    expect(new Set(memory.map((piece) => piece.buffer))).toEqual(others);
    await one.return!();
  });

  test.each(['http', 'https'])('and each byte arrives by %s at a server that reads slowly', async (scheme) => {
    await store.put('o1/film.mp4', content(film));
    const arrived: string[] = [];
    const tls = makeCertificate();
    const serve = async (request: AsyncIterable<Uint8Array>) => {
      const hash = createHash('sha256');
      let behind = 0;
      for await (const piece of request) {
        hash.update(piece);
        for (let turns = 0; turns < (behind++ % 8) * 4; turns++) await turn();
      }
      arrived.push(hash.digest('hex'));
    };
    const answered: Parameters<typeof createServer>[1] = (request, response) =>
      void serve(request).then(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
    const server = scheme === 'https' ? createTlsServer(tls, answered) : createServer(answered);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await using end = new AsyncDisposableStack();
    end.defer(async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
    const outbound = end.use(
      openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'], authorities: [tls.cert] }),
    );
    const api = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const wire = openHttp({ manifest: { title: 'x', api }, outbound, clock: systemClock, values: {}, secrets: [] });
    const body = {
      name: 'film.mp4',
      contentType: 'video/mp4',
      size: film.length,
      async *open(how?: BodyReading) {
        expect(how).toEqual({ lent: [] });
        yield* (await store.open('o1/film.mp4'))!.lend!(how!.lent!);
      },
    };
    await wire.post('/whole', z.unknown(), { bytes: body });
    await wire.post('/form', z.unknown(), { multipart: { file: body } });
    expect(arrived[0]).toBe(sha256(film));
    expect(arrived).toHaveLength(2);
  });
});
