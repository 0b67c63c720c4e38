import { expect, test } from '@jest/globals';
import { openPartsInFlight } from './parts-in-flight.ts';

const part = (number: number, bytes: number) => ({ number, bytes, etag: `e${number}` });

/** The parts of a process, over an upload whose listings are counted. */
function opened() {
  let now = 0;
  const there = [part(1, 10)];
  let listings = 0;
  const parts = openPartsInFlight({ monotonic: () => now });
  const list = () => {
    listings += 1;
    return Promise.resolve([...there]);
  };
  return {
    parts,
    there,
    arrived: (anew = false) => parts.arrived('u', list, { anew }),
    listings: () => listings,
    pass: (ms: number) => (now += ms),
  };
}

test('a thousand parts are listed once, and each counts when it has arrived', async () => {
  const { parts, arrived, listings } = opened();
  for (let number = 2; number <= 1_000; number += 1) {
    using sending = parts.begin({ uploadId: 'u', number }, 10, () => undefined);
    expect(sending.bytesWith((await arrived())!)).toBe(number * 10);
    await sending.arrived(part(number, 10));
  }
  expect(listings()).toBe(1);
});

test('what came to another process counts after ten seconds, and at once where it is listed anew', async () => {
  const { parts, there, arrived, pass, listings } = opened();
  using sending = parts.begin({ uploadId: 'u', number: 2 }, 5, () => undefined);
  const counted = async (anew?: boolean) => sending.bytesWith((await arrived(anew))!);
  expect(await counted()).toBe(15);
  there.push(part(3, 100));
  expect(await counted()).toBe(15);
  expect(await counted(true)).toBe(115);
  there.push(part(4, 100));
  pass(10_000);
  expect([await counted(), listings()]).toEqual([215, 3]);
});

test('an upload that is gone, or that cannot be listed, is asked for again', async () => {
  const { parts, arrived } = opened();
  expect(await parts.arrived('u', () => Promise.resolve(undefined))).toBeUndefined();
  await expect(parts.arrived('u', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await arrived()).toEqual(new Map([[1, 10]]));
});
