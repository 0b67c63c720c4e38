import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { crc32, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AppError } from '../../../src/platform/kernel/index.ts';
import type { MediaRoom } from '../../../src/library/media/index.ts';
import { openPictures } from '../../../src/library/media/pictures.ts';
import { openProber } from '../../../src/library/media/probe.ts';
import { ACCEPTED } from '../../../src/library/media/rules.ts';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { BACKEND, mediaApp } from '../../support/worlds/media.ts';
import { NAUGHTY } from '../../support/wire/naughty.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';

// Content, names and paths that mean harm, many of them, the same in each run.

/** Uploads at once. */
const TOGETHER = 8;

let db: TestDatabase;
let app: TestApp;
let media: MediaRoom;
/** Holds `uploads`, and a file beside it that nobody may get. */
let around: string;
let ann: SignedUp;

beforeAll(async () => {
  db = await testDatabase();
  around = await mkdtemp(join(tmpdir(), 'rookery-fuzz-'));
  await writeFile(join(around, 'secret.png'), 'secret');
  app = await mediaApp({ sql: db.sql, folder: join(around, 'uploads') });
  ({ media } = app.context);
  ann = await app.signUp();
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  if (around) await rm(around, { recursive: true });
});

/** Numbers below `n`, the same in each run. */
function dice(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

test('each of a thousand broken files is stored as the type of its content, or refused [X4, S147]', async () => {
  const roll = dice(1);
  await using pictures = openPictures();
  const prober = await openProber({ pictures, ffprobe: 'ffprobe', ffmpeg: 'ffmpeg' });
  const whole = [
    ...Object.values(HEADS),
    ...(await Promise.all((['png', 'jpeg', 'webp', 'gif', 'tiff'] as const).map((format) => picture(20, 20, format)))),
  ];
  const folder = join(around, 'broken');
  await mkdir(folder);
  const outcomes = { taken: 0, refused: 0 };
  for (let n = 0; n < 1_000; n += 1) {
    const bytes = Buffer.from(whole[roll(whole.length)]!);
    for (let flips = roll(12); flips >= 0; flips -= 1) bytes[roll(bytes.length)] = roll(256);
    const path = join(folder, 'one');
    await writeFile(path, roll(4) === 0 ? bytes.subarray(0, roll(bytes.length) + 1) : bytes);
    try {
      const { mime, extension } = await prober.look('org', path);
      expect([...ACCEPTED.values()].some((one) => one.mime === mime && one.extension === extension)).toBe(true);
      await prober.thumbnail('org', path, { mime, kind: 'image', durationMs: null }, join(folder, 'small'));
      outcomes.taken += 1;
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).code).toBe('unsupported_media');
      outcomes.refused += 1;
    }
  }
  expect([outcomes.taken > 100, outcomes.refused > 100, outcomes.taken + outcomes.refused]).toEqual([
    true,
    true,
    1_000,
  ]);
}, 300_000);

test('a file is stored as no page, script or SVG, whatever it begins with [X4, S147]', async () => {
  await using pictures = openPictures();
  const prober = await openProber({ pictures, ffprobe: 'ffprobe', ffmpeg: 'ffmpeg' });
  const pages = [
    '<!doctype html>',
    '<html>',
    '<svg xmlns="http://www.w3.org/2000/svg">',
    '<?xml version="1.0"?><svg/>',
    '#!/bin/sh\n',
    '<script>',
    '%!PS-Adobe',
    'MZ',
    '\u007fELF',
    'PK\u0003\u0004',
  ];
  for (const page of pages)
    for (const before of ['', ' ', '\n\n', '\ufeff', '<!-- x -->', '\u0000', 'a'.repeat(300)])
      await expect(
        prober.typeOf(Buffer.from(`${before}${page}<script>alert(1)</script>${' '.repeat(600)}`)),
      ).rejects.toMatchObject({
        code: 'unsupported_media',
      });
});

test('a small picture that unpacks to very many pixels is refused before it is unpacked, in each format that allows it [X4]', async () => {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(60_000, 0);
  head.writeUInt32BE(60_000, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const png = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.alloc(100_000))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  const gif = Buffer.from(await picture(4, 4, 'gif'));
  const inner = gif.lastIndexOf(0x2c); // the picture within the screen: a screen alone is made smaller by the reader
  for (const at of [6, 8, inner + 5, inner + 7]) gif.writeUInt16LE(60_000, at);
  const jpeg = Buffer.from(await picture(4, 4, 'jpeg'));
  const frame = jpeg.indexOf(Buffer.from('ffc0', 'hex'));
  jpeg.writeUInt16BE(65_000, frame + 5);
  jpeg.writeUInt16BE(65_000, frame + 7);
  const avif = Buffer.from(await picture(4, 4, 'avif'));
  for (let at = avif.indexOf('ispe'); at > 0; at = avif.indexOf('ispe', at + 1))
    for (const side of [8, 12]) avif.writeUInt32BE(60_000, at + side);
  const tiff = Buffer.from(await picture(4, 4, 'tiff'));
  const directory = tiff.readUInt32LE(4);
  for (let entry = directory + 2; entry < directory + 2 + 12 * tiff.readUInt16LE(directory); entry += 12)
    if ([256, 257, 278].includes(tiff.readUInt16LE(entry))) {
      tiff.writeUInt16LE(4, entry + 2);
      tiff.writeUInt32LE(60_000, entry + 8);
    }
  for (const [kind, bomb] of Object.entries({ png, gif, jpeg, avif, tiff }))
    expect([kind, (await ann.client.post('/files/upload-server', formOf(bomb))).status]).toEqual([kind, 415]);
});

test('a file is kept under a generated name and shown without deceptive characters, whatever it is called [X6, S147, S152]', async () => {
  const png = await picture(3, 3);
  const before = await readdir(around);
  const names = [
    ...NAUGHTY.filter((_, n) => n % 4 === 0),
    '../../../secret.png',
    '..\\..\\secret.png',
    '/etc/passwd',
    'a\u0000.png',
    'CON',
    '.htaccess',
    '%2e%2e%2fx',
    'x'.repeat(5_000),
    'a\r\nSet-Cookie: x=y.png',
  ];
  let taken = 0;
  const judge = async (name: string) => {
    const answer = await ann.client.post('/files/upload-server', formOf(png, { name }));
    expect([name, answer.status === 201 || answer.status === 400]).toEqual([name, true]);
    if (answer.status !== 201) return;
    taken += 1;
    expect(answer.body.path).toMatch(/\/uploads\/[0-9a-f-]{36}\/[0-9A-Za-z]{32}\.png$/);
    // oxlint-disable-next-line no-control-regex -- they are what must not be shown
    expect(answer.body.name).not.toMatch(/[\u0000-\u001f/\\\u202a-\u202e]/);
    expect(answer.body.name.length).toBeLessThanOrEqual(255);
  };
  for (let n = 0; n < names.length; n += TOGETHER) await Promise.all(names.slice(n, n + TOGETHER).map(judge));
  expect(taken).toBeGreaterThan(names.length / 2);
  expect(await readdir(around)).toEqual(before);
}, 300_000);

test('none of ten thousand paths leads out of the folder or to an unfinished upload [X6, S152]', async () => {
  const roll = dice(2);
  const { body: file } = await ann.client.post('/files/upload-server', formOf(await picture(3, 3)));
  const own = file.path.slice(`${BACKEND}/uploads/`.length) as string;
  const [folder, name] = own.split('/') as [string, string];
  await writeFile(join(around, 'uploads', '.incoming', 'on-its-way.png'), 'secret');
  const words = [
    '..',
    '.',
    '/',
    '\\',
    '%2e%2e',
    '%2f',
    '%5c',
    '\u0000',
    '//',
    'secret.png',
    '.incoming',
    '.parts',
    'on-its-way.png',
    folder,
    name,
    name.slice(0, 32),
    '.png',
    'etc/passwd',
    'file:',
    '~',
    ';',
    '\u2215',
    '\uff0e\uff0e',
  ];
  let found = 0;
  for (let n = 0; n < 10_000; n += 1) {
    const path = Array.from({ length: 1 + roll(6) }, () => words[roll(words.length)]!).join('');
    const served = await media.serve(path);
    if (!served) continue;
    expect(path).toBe(own);
    found += 1;
    if (!('url' in served)) expect((await buffer(served.read())).toString()).not.toBe('secret');
  }
  const right = await media.serve(own);
  expect(right && 'mime' in right && right.mime).toBe('image/png');
  if (right && 'mime' in right) await right[Symbol.asyncDispose]();
  expect(found).toBeLessThan(100);
}, 300_000);
