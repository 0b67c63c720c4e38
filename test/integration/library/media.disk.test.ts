import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { StartError } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { ATTEMPT } from '../../support/worlds/media-of.ts';
import { HASTY, mediaApp } from '../../support/worlds/media.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';
import { wholeProduct } from '../../support/worlds/product.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';

// What a disk may be: full, not ours, another one on each machine.

const run = promisify(execFile);
let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

/** The product over a folder. */
async function library(folder: string, env: Record<string, string> = {}) {
  const app = await mediaApp({
    sql: db.sql,
    folder,
    clock: HASTY,
    env: { MEDIA_UPLOAD_MAX_BYTES: '100000000', ...env },
  });
  const upload = (who: SignedUp, bytes: Uint8Array) => who.client.post('/files/upload-server', formOf(bytes));
  return { media: app.context.media, app, upload, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}
const newFolder = () => mkdtemp(join(tmpdir(), 'rookery-disk-'));

test('a folder for uploads that cannot be made ends the start with a sentence that names the setting', async () => {
  const folder = await newFolder();
  await writeFile(join(folder, 'file'), '');
  const failed = await wholeProduct({ env: { UPLOAD_FOLDER: join(folder, 'file', 'uploads') } }).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failed).toBeInstanceOf(StartError);
  expect((failed as StartError).message).toMatch(
    /^Uploads cannot be kept in .*file.uploads \(.*ENOTDIR.*\)\. Let UPLOAD_FOLDER name a folder/,
  );
  await rm(folder, { recursive: true });
});

test('a post whose picture lies on another machine is tried again, not failed', async () => {
  const [here, there] = [await newFolder(), await newFolder()];
  await using one = await library(here);
  await using other = await library(there);
  const ann = await one.app.signUp();
  const { body: file } = await one.upload(ann, await picture(20, 20));
  const items = [{ id: file.id as string, path: file.path as string, alt: '' }];
  await expect(other.media.load(ann.orgId, items, ATTEMPT)).rejects.toMatchObject({
    failure: 'unavailable',
    message: expect.stringContaining('UPLOAD_FOLDER'),
  });
  expect(await one.media.load(ann.orgId, items, ATTEMPT)).toHaveLength(1);
  for (const folder of [here, there]) await rm(folder, { recursive: true });
});

test('the upload folder stays empty where each machine has a folder of its own', async () => {
  const folder = await newFolder();
  await using room = await library(folder, { UPLOAD_FOLDER_SHARED: 'false' });
  const ann = await room.app.signUp();
  const png = await picture(20, 20);
  const begun = await ann.client.post('/files/create-multipart-upload', {
    file: { name: 'a.png', size: png.length, type: 'image/png' },
  });
  for (const { status, body } of [await room.upload(ann, png), begun])
    expect([status, body.code, body.message]).toEqual([
      503,
      'unavailable',
      expect.stringContaining('/admin/providers/settings'),
    ]);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  const load = room.media.load(ann.orgId, [{ path: `${site.url}/a.png`, alt: '' }], ATTEMPT);
  await expect(load).rejects.toMatchObject({
    failure: 'unavailable',
    message: expect.stringContaining('/admin/providers/settings'),
  });
  expect((await readdir(folder, { recursive: true })).filter((name) => !name.startsWith('.'))).toEqual([]);
  await rm(folder, { recursive: true });
});

/** A disk of 8 MB, where this machine lets us have one. */
async function smallDisk(): Promise<Peer> {
  const at = await mkdtemp(`${tmpdir()}/rookery-full-`);
  await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'rookery-full', at]);
  await chmod(at, 0o755);
  const stop = async () => {
    await run('umount', ['-l', at]);
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
    const film = (bytes: number) => Buffer.concat([HEADS['mp4']!, Buffer.alloc(bytes)]);

    test('an upload on a full disk is 503, the log names ENOSPC, and nothing is left behind', async () => {
      await using disk = await start();
      await using room = await library(disk.url);
      const ann = await room.app.signUp();
      const { status, body } = await room.upload(ann, film(12_000_000));
      expect([status, body.code, body.message]).toEqual([
        503,
        'unavailable',
        'The disk for uploads is full: nothing was kept',
      ]);
      expect(room.app.log.lines.filter(({ level }) => level === 'error')).toMatchObject([
        { detail: { code: 'ENOSPC' }, message: 'the disk of the uploads failed, nothing was kept' },
      ]);
      expect((await readdir(disk.url, { recursive: true })).filter((name) => /[0-9a-zA-Z]{32}/.test(name))).toEqual([]);
      expect((await room.upload(ann, film(1_000_000))).status).toBe(201);
    });

    test('outside media is not fetched to a disk that is nearly full; uploads go on', async () => {
      await using disk = await start();
      await using room = await library(disk.url);
      const png = await picture(20, 20);
      await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
      const ann = await room.app.signUp();
      const load = (name: string) => room.media.load(ann.orgId, [{ path: `${site.url}/${name}`, alt: '' }], ATTEMPT);
      expect(await load('a.png')).toHaveLength(1);
      expect((await room.upload(ann, film(8_100_000))).status).toBe(201);
      await expect(load('b.png')).rejects.toMatchObject({
        failure: 'unavailable',
        message: expect.stringContaining('hardly any room'),
      });
      expect([site.ledger.length, (await room.upload(ann, png)).status]).toEqual([1, 201]);
    });
  },
);
