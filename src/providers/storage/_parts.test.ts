import { expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { exactly, MIB, openBuffers, partBytesOf, sendParts, wholeOf } from './_parts.ts';

const stream = (pieces: readonly Uint8Array[]) => ({
  async *[Symbol.asyncIterator]() {
    yield* pieces;
  },
});

test('sends chunks of any size in parts of one size, the last with the rest', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 50 }),
      async (chunks, size) => {
        const whole = Buffer.concat(chunks);
        const content = { from: stream(chunks), bytes: whole.length, mime: 'video/mp4' };
        const parts: Buffer[] = [];
        await sendParts(content, size, async (number, data) => {
          await new Promise(setImmediate);
          expect(parts[number]).toBeUndefined();
          parts[number] = Buffer.from(data);
        });
        const sent = parts.slice(1);
        expect(Buffer.concat(sent).equals(whole)).toBe(true);
        expect(sent).toHaveLength(Math.max(1, Math.ceil(whole.length / size)));
        for (const part of sent.slice(0, -1)) expect(part).toHaveLength(size);
        expect(Buffer.from(await wholeOf(content)).equals(whole)).toBe(true);
      },
    ),
  );
});

test.each([-1, 1, 100])('refuses content that is %i bytes off before its last part is sent', async (off) => {
  const content = { from: stream([Buffer.alloc(60), Buffer.alloc(60 + off)]), bytes: 120, mime: 'video/mp4' };
  const sent: number[] = [];
  await expect(sendParts(content, 50, async (number) => void sent.push(number))).rejects.toMatchObject({
    failure: 'rejected',
  });
  expect(sent).not.toContain(3);
  await expect(wholeOf(content)).rejects.toMatchObject({ failure: 'rejected' });
  const all = async () => {
    for await (const piece of exactly(content)) expect(piece.length).toBeGreaterThan(0);
  };
  await expect(all()).rejects.toMatchObject({ failure: 'rejected' });
});

test.each([
  ['1 GiB', 1024 * MIB, {}, 8 * MIB],
  ['1 TiB, in no more than 10,000 parts', 1024 * 1024 * MIB, {}, 105 * MIB],
  ['1 GiB, in no more than 100 parts', 1024 * MIB, { most: 100 }, 11 * MIB],
  ['1 GiB, in segments of 64 MiB', 1024 * MIB, { usual: 64 * MIB }, 64 * MIB],
])('parts of %s', (_, bytes, limits, size) => {
  expect(partBytesOf(bytes, limits)).toBe(size);
  expect(Math.ceil(bytes / size)).toBeLessThanOrEqual('most' in limits ? limits.most : 10_000);
});

test('lends no more memory than the limit, in FIFO order', async () => {
  const lend = openBuffers(10);
  let held = 0;
  const begun: number[] = [];
  const sizes = [4, 4, 4, 10, 1, 99, 2];
  await Promise.all(
    sizes.map((bytes, n) =>
      lend(bytes, async (buffer) => {
        expect(buffer).toHaveLength(bytes);
        begun.push(n);
        held += Math.min(bytes, 10);
        expect(held).toBeLessThanOrEqual(10);
        await new Promise(setImmediate);
        held -= Math.min(bytes, 10);
        if (n === 2) throw new Error('one that fails gives back what it held');
      }).catch(() => undefined),
    ),
  );
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(held).toBe(0);
});

test('begins no part after a failure, and waits for those under way', async () => {
  let [sent, under] = [0, 0];
  const content = {
    from: stream(Array.from({ length: 50 }, () => Buffer.alloc(1_000))),
    bytes: 50_000,
    mime: 'video/mp4',
  };
  const work = sendParts(content, 1_000, async (number) => {
    [sent, under] = [sent + 1, under + 1];
    await new Promise(setImmediate);
    under -= 1;
    if (number === 3) throw new Error('part 3');
  });
  await expect(work).rejects.toThrow('part 3');
  expect(under).toBe(0);
  expect(sent).toBeLessThan(12);
});

test('reuses a large buffer, for one borrower at a time', async () => {
  const lend = openBuffers(4 * MIB);
  const [seen, under] = [new Set<Buffer>(), new Set<Buffer>()];
  await Promise.all(
    Array.from({ length: 40 }, () =>
      lend(MIB, async (buffer) => {
        expect(under.has(buffer)).toBe(false);
        under.add(buffer);
        seen.add(buffer);
        await new Promise(setImmediate);
        under.delete(buffer);
      }),
    ),
  );
  expect(seen.size).toBeLessThanOrEqual(4);
});
