import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import sharp from 'sharp';

/** Address of `picture-work.ts` that uses `counting` in the place of sharp, while the hooks are there. */
function countedSharp(counting: unknown) {
  const url = `${new URL('./picture-work.ts', import.meta.url).href}?counted`;
  const key = Symbol.for('counted sharp');
  Reflect.set(globalThis, key, counting);
  const source = "export default globalThis[Symbol.for('counted sharp')];";
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'sharp' && context.parentURL === url
        ? { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true }
        : next(specifier, context),
  });
  return {
    url,
    [Symbol.dispose]() {
      hooks.deregister();
      Reflect.deleteProperty(globalThis, key);
    },
  };
}

test('a picture is decoded once, however often it is encoded until it fits', async () => {
  const opened: unknown[] = [];
  const counting = Object.assign(
    (from: unknown, options: never) => {
      opened.push(typeof from === 'string' ? 'file' : 'decoded');
      return sharp(from as string, options);
    },
    { block: sharp.block, unblock: sharp.unblock, cache: sharp.cache, concurrency: sharp.concurrency },
  );
  // a second instance of the module, which gets its sharp from here
  using hooks = countedSharp(counting);
  const { work } = (await import(hooks.url)) as typeof import('./picture-work.ts');
  const folder = await mkdtemp(join(tmpdir(), 'rookery-picture-work-'));
  try {
    const path = join(folder, 'a.png');
    const noisy = sharp({
      create: {
        width: 900,
        height: 900,
        channels: 3,
        background: '#888',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    });
    await writeFile(path, await noisy.png().toBuffer());
    await work({ kind: 'fit', path, target: join(folder, 'b.jpg'), maxBytes: 5_000, maxPixels: 1e9 });
    const files = opened.filter((from) => from === 'file').length;
    // one of the two reads the head
    expect([files, opened.length - files > 2, opened.length <= 14]).toEqual([2, true, true]);
    opened.length = 0;
    expect(
      await work({ kind: 'fit', path, target: join(folder, 'b.jpg'), maxBytes: 1, maxPixels: 1e9 }),
    ).toBeUndefined();
    expect(opened.length).toBeLessThanOrEqual(14);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
