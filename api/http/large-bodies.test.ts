import { describe, expect, test } from '@jest/globals';
import type { Exchange } from './exchange.ts';
import { openLargeBodies, placeForBody } from './large-bodies.ts';

const exchange = (orgId: string, length?: number) =>
  ({
    request: { headers: { 'content-length': length?.toString() } },
    principal: { orgId },
  }) as unknown as Pick<Exchange, 'request' | 'principal'>;
const LARGE = { bodyLimit: 10_000_000 };
/** Turns of the event loop, in which everything that can go on has gone on. */
const turns = async () => {
  for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('placeForBody', () => {
  test('asks no place for a usual body, and one for a large body or one of unknown length [S8]', async () => {
    const asked: string[] = [];
    const bodies = {
      enter: async (orgId: string) => {
        asked.push(orgId);
        return { [Symbol.dispose]: () => {} };
      },
    };
    expect(await placeForBody(exchange('a', 9_000_000), {}, bodies)).toBeUndefined();
    expect(await placeForBody(exchange('a', 2_000_000), LARGE, bodies)).toBeUndefined();
    expect(asked).toEqual([]);
    expect(await placeForBody(exchange('b'), LARGE, bodies)).toBeDefined();
    expect(await placeForBody(exchange('c', 2_000_001), LARGE, bodies)).toBeDefined();
    expect(asked).toEqual(['b', 'c']);
  });
});

describe('openLargeBodies', () => {
  test('has two at a time, of two organizations, and refuses what one has too much [S8]', async () => {
    const bodies = openLargeBodies();
    const first = await bodies.enter('a');
    let entered = 0;
    const enter = async (orgId: string) => {
      const place = await bodies.enter(orgId);
      entered += 1;
      return place;
    };
    const waiting = Array.from({ length: 4 }, () => enter('a'));
    await turns();
    expect(entered).toBe(0);
    await expect(bodies.enter('a')).rejects.toMatchObject({ code: 'busy' });
    const other = await enter('b');
    const third = enter('c');
    await turns();
    expect(entered).toBe(1);
    first[Symbol.dispose]();
    other[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    for (const one of waiting) (await one)[Symbol.dispose]();
    expect(entered).toBe(6);
  });
});
