import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { hashPassword } from '../../people/auth/password.ts';
import { openPictures, type Pictures } from './pictures.ts';

let folder: string;
let pictures: Pictures;
const never = new AbortController().signal;
const noise = (side: number) =>
  sharp({
    create: {
      width: side,
      height: side,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rookery-pictures-'));
  pictures = openPictures();
});
afterAll(async () => {
  await pictures[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

let made = 0;
const pathOf = () => join(folder, `picture-${(made += 1)}`);
async function kept(data: Uint8Array): Promise<string> {
  const path = pathOf();
  await writeFile(path, data);
  return path;
}
const bring = (path: string) => async () => ({ path, [Symbol.asyncDispose]: async () => {} });
const LARGE = { maxBytes: Infinity, maxPixels: Infinity };

test('a picture that is too large becomes a smaller JPEG, by bytes and by pixels', async () => {
  const path = await kept(await noise(300).png().toBuffer());
  const target = pathOf();
  const small = (await pictures.fit('a', bring(path), { ...LARGE, maxBytes: 20_000 }, target, never))!;
  expect(small.bytes).toBeLessThanOrEqual(20_000);
  expect(await sharp(await readFile(target)).metadata()).toMatchObject({
    format: 'jpeg',
    width: small.width,
    height: small.height,
  });
  const few = (await pictures.fit('a', bring(path), { ...LARGE, maxPixels: 10_000 }, target, never))!;
  expect([few.width * few.height <= 10_000, few.width]).toEqual([true, few.height]);
});

test('a picture that is small already becomes a JPEG of its size', async () => {
  const path = await kept(await noise(16).png().toBuffer());
  expect(await pictures.fit('a', bring(path), LARGE, pathOf(), never)).toMatchObject({ width: 16, height: 16 });
});

test('a rotated picture becomes upright, and a transparent one gets a white background', async () => {
  const flat = await sharp({ create: { width: 80, height: 40, channels: 4, background: '#0000' } })
    .webp()
    .toBuffer();
  const path = await kept(await sharp(flat).withMetadata({ orientation: 6 }).webp().toBuffer());
  const target = pathOf();
  expect(await pictures.measure('a', path)).toEqual({ width: 40, height: 80 });
  expect(await pictures.fit('a', bring(path), LARGE, target, never)).toMatchObject({ width: 40, height: 80 });
  expect((await sharp(await readFile(target)).stats()).channels.map(({ min }) => min > 250)).toEqual([
    true,
    true,
    true,
  ]);
});

test('a picture that cannot be read or made to fit is reported, and leaves nothing', async () => {
  const target = pathOf();
  expect(
    await pictures.fit(
      'a',
      bring(await kept(await noise(100).png().toBuffer())),
      { ...LARGE, maxBytes: 50 },
      target,
      never,
    ),
  ).toBeUndefined();
  const page = await kept(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'));
  expect(await pictures.fit('a', bring(page), LARGE, target, never)).toBeUndefined();
  expect([await pictures.measure('a', page), await pictures.thumbnail('a', page, target)]).toEqual([undefined, false]);
  expect(await readdir(folder)).not.toContain(target.split('/').at(-1));
});

test('a picture that unpacks to 100 megapixels is made to fit without this process growing', async () => {
  const turned = sharp({
    create: { width: 10_000, height: 10_000, channels: 3, background: '#a33' },
    limitInputPixels: false,
  });
  const path = pathOf();
  await turned.withMetadata({ orientation: 6 }).png().toFile(path);
  const before = process.resourceUsage().maxRSS;
  const target = pathOf();
  expect(
    await pictures.fit('a', bring(path), { maxBytes: 900_000, maxPixels: 1_000_000 }, target, never),
  ).toMatchObject({ width: 1_000, height: 1_000 });
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(60 * 1_024); // in kibibytes
}, 120_000);

test('an aborted job ends with its worker, and the next job has a new worker', async () => {
  const path = await kept(await noise(200).png().toBuffer());
  const over = new AbortController();
  const waits = async (): Promise<never> => {
    over.abort(new Error('given up'));
    return bring(path)() as Promise<never>;
  };
  await expect(pictures.fit('a', waits, LARGE, pathOf(), over.signal)).rejects.toThrow('given up');
  await expect(pictures.fit('a', bring(path), LARGE, pathOf(), over.signal)).rejects.toThrow('given up');
  expect(await pictures.measure('a', path)).toEqual({ width: 200, height: 200 });
});

test('a password is hashed while many pictures wait to be made to fit, and organizations take turns', async () => {
  const path = await kept(await noise(1_200).png().toBuffer());
  const ended: string[] = [];
  const fit = (orgId: string) =>
    pictures.fit(orgId, bring(path), { ...LARGE, maxPixels: 1_000_000 }, pathOf(), never).then(() => ended.push(orgId));
  const flood = Array.from({ length: 24 }, () => fit('a'));
  await flood[0];
  const other = fit('b');
  await hashPassword('correct horse');
  const before = ended.length;
  await other;
  expect([before < 20, ended.indexOf('b') < 12]).toEqual([true, true]);
  await Promise.all(flood);
}, 300_000);

test('a missing worker is reported, and close waits for none', async () => {
  const path = await kept(await noise(20).png().toBuffer());
  const { PATH } = process.env; // oxlint-disable-line node/no-process-env -- where workers are looked for
  const own = openPictures();
  try {
    process.env['PATH'] = folder; // oxlint-disable-line node/no-process-env -- where there is no shell
    await expect(own.measure('a', path)).rejects.toMatchObject({ code: 'unavailable' });
    await own[Symbol.asyncDispose]();
  } finally {
    process.env['PATH'] = PATH; // oxlint-disable-line node/no-process-env -- as it was
  }
});

test('close does not report an interrupted picture as unreadable, and starts no worker for waiting ones', async () => {
  const path = await kept(await noise(20).png().toBuffer());
  const own = openPictures();
  const begun = [1, 2, 3].map(() => own.measure('a', path));
  const settled = Promise.allSettled(begun);
  await Promise.resolve(); // the first one has its turn
  await own[Symbol.asyncDispose]();
  expect(await settled).toMatchObject(begun.map(() => ({ status: 'rejected', reason: { code: 'unavailable' } })));
});
