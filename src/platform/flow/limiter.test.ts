import { describe, expect, test } from '@jest/globals';
import { LimiterClosed, type LimiterOptions, openLimiter } from './limiter.ts';
import type { LimiterPlace } from './limiter-places.ts';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Asks for a place and notes its owner when it has one. */
function world(options: LimiterOptions) {
  const limiter = openLimiter(options);
  const got: string[] = [];
  const places: LimiterPlace[] = [];
  const ask = (owner: string, signal?: AbortSignal) =>
    limiter.enter(owner, signal && { signal }).then((place) => {
      got.push(owner);
      places.push(place);
      return place;
    });
  return { limiter, got, places, ask };
}

describe('openLimiter', () => {
  test('places are dealt in turn, however many one owner asks for', async () => {
    const { got, places, ask } = world({ total: 1 });
    const asked = ['a', 'a', 'a', 'b', 'c', 'a'].map((owner) => ask(owner));
    for (let n = 0; n < 6; n += 1) {
      await tick();
      expect(got).toHaveLength(n + 1);
      places[n]![Symbol.dispose]();
      places[n]![Symbol.dispose](); // twice is once
    }
    await Promise.all(asked);
    expect(got).toEqual(['a', 'a', 'b', 'c', 'a', 'a']);
  });

  test('one owner never gets all places', async () => {
    const { limiter, got, places, ask } = world({ total: 3, perOwner: 2 });
    for (const owner of ['a', 'a', 'a', 'b', 'b']) void ask(owner);
    await tick();
    expect([got, limiter.inFlight]).toEqual([['a', 'a', 'b'], 3]);
    places[2]![Symbol.dispose]();
    await tick();
    expect(got).toEqual(['a', 'a', 'b', 'b']);
  });

  test('a cancelled caller is removed and blocks no place', async () => {
    const { limiter, got, places, ask } = world({ total: 1 });
    void ask('a');
    const over = new AbortController();
    const given = ask('b', over.signal);
    void ask('c');
    over.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    await expect(ask('d', over.signal)).rejects.toThrow('given up');
    await tick();
    places[0]![Symbol.dispose]();
    await tick();
    expect([got, limiter.inFlight, limiter.waiting]).toEqual([['a', 'c'], 1, 0]);
  });

  test('the free place of a lane goes to the next waiting caller when the one before it cancels', async () => {
    const limiter = openLimiter({ total: 2, perLane: 1, perOwner: 'share' });
    const got: string[] = [];
    const enter = async (owner: string, lane: string, signal?: AbortSignal) => {
      const place = await limiter.enter(owner, { lane, ...(signal && { signal }) });
      got.push(owner);
      return place;
    };
    const x = await enter('x', 'full');
    const y = await enter('y', 'other');
    void enter('e', 'third');
    const over = new AbortController();
    enter('b', 'full', over.signal).catch(() => {});
    void enter('c', 'full');
    x.leave(); // the place is that of "e", whose turn came first, and the lane is kept for "b"
    await tick();
    over.abort();
    y.leave();
    await tick();
    expect(got).toEqual(['x', 'y', 'e', 'c']);
  });

  test('a lane leaves no place unused because a waiting caller holds too much', async () => {
    const limiter = openLimiter({ total: 5, perLane: 1, perOwner: 'share' });
    const got: string[] = [];
    const enter = async (owner: string, lane: string) => {
      const place = await limiter.enter(owner, { lane });
      got.push(owner);
      return place;
    };
    await enter('e', '1');
    await enter('b', '2');
    const x = await enter('x', 'full');
    await enter('f', '3');
    void enter('e', '4'); // one is free, and it holds one
    void enter('b', 'full');
    void enter('c', 'full');
    await tick();
    x.leave(); // "e" takes a place elsewhere: now "b" holds too much
    await tick();
    expect(got).toEqual(['e', 'b', 'x', 'f', 'e', 'c']);
  });

  test('the limiter reports whether a waiting caller could use the place of an owner', async () => {
    const { limiter, got, ask } = world({ total: 3, perOwner: 2 });
    const a1 = await ask('a');
    await ask('a');
    const waiting = [ask('a'), ask('a'), ask('b'), ask('c')];
    await waiting[2];
    expect([got, limiter.isWanted('a')]).toEqual([['a', 'a', 'b'], true]);
    a1.leave();
    a1.leave(); // leaving twice is leaving once
    const c = await waiting[3]!; // "c" has none yet, "a" holds one still
    expect(got).toEqual(['a', 'a', 'b', 'c']);
    c.leave();
    (await waiting[0]!).leave();
    (await waiting[1]!).leave();
    expect(got).toEqual(['a', 'a', 'b', 'c', 'a', 'a']);
    expect(limiter.isWanted('b')).toBe(false);
  });

  test('every other owner gets its turn while one floods the limiter', async () => {
    const limiter = openLimiter({ total: 1, perLane: 1, perOwner: 'share' });
    const order: string[] = [];
    const enter = (owner: string) =>
      void limiter.enter(owner, { lane: 'lane' }).then(async ({ leave }) => {
        order.push(owner);
        await tick();
        leave();
      });
    for (let n = 0; n < 100; n++) enter('flood');
    for (const owner of ['a', 'b', 'c']) enter(owner);
    while (order.length < 103) await tick();
    expect(
      order
        .slice(0, 8)
        .filter((owner) => owner !== 'flood')
        .toSorted(),
    ).toEqual(['a', 'b', 'c']);
  });

  test('hanging calls block only their own lane', async () => {
    const limiter = openLimiter({ total: 10, perLane: 3, perOwner: 'share' });
    for (let n = 0; n < 20; n++) void limiter.enter(`org${n % 4}`, { lane: 'hangs' });
    await tick();
    expect([limiter.inFlight, limiter.waiting]).toEqual([3, 17]);
    const { leave } = await limiter.enter('org0', { lane: 'healthy' });
    leave();
    expect(limiter.inFlight).toBe(3);
  });

  test('closing refuses waiting callers; a place given back twice counts once', async () => {
    const limiter = openLimiter({ total: 1, perLane: 1, perOwner: 'share' });
    const { leave } = await limiter.enter('a', { lane: 'x' });
    const waits = limiter.enter('b', { lane: 'x' });
    limiter.close();
    await expect(waits).rejects.toBeInstanceOf(LimiterClosed);
    await expect(limiter.enter('c', { lane: 'x' })).rejects.toBeInstanceOf(LimiterClosed);
    leave();
    leave();
    expect([limiter.inFlight, limiter.waiting]).toEqual([0, 0]);
  });

  test('a new caller gets a place while all calls of others hang, in any number of lanes', async () => {
    const limiter = openLimiter({ total: 64, perLane: 16, perOwner: 'share' });
    for (let n = 0; n < 500; n++) void limiter.enter('a', { lane: `hangs${n}` });
    await tick();
    expect(limiter.inFlight).toBe(32);
    for (let org = 0; org < 5; org++)
      for (let n = 0; n < 100; n++) void limiter.enter(`b${org}`, { lane: `b${org} hangs${n}` });
    await tick();
    expect(limiter.inFlight).toBeLessThan(64);
    const { leave } = await limiter.enter('c', { lane: 'healthy' }); // and nobody has left
    leave();
  });

  test('calls of a lane whose last call hung twice are counted until one of them answers', async () => {
    const limiter = openLimiter({ total: 30, perLane: 30, perOwner: 'share' });
    (await limiter.enter('a', { lane: 'lane' })).leave(true);
    const inside: LimiterPlace[] = [];
    for (let n = 0; n < 30; n++) void limiter.enter('a', { lane: 'lane' }).then((place) => inside.push(place));
    await tick();
    expect(limiter.inFlight).toBe(10); // 20 are free, and it holds 20
    inside.shift()!.leave();
    await tick();
    while (inside.length > 0 && limiter.waiting > 0) {
      inside.shift()!.leave();
      await tick();
    }
    expect(limiter.waiting).toBe(0);
  });

  test('a sole owner gets every place that is given back', async () => {
    const limiter = openLimiter({ total: 8, perLane: 8, perOwner: 'share' });
    let entered = 0;
    const calls = Array.from({ length: 100 }, async (_, n) => {
      using _place = await limiter.enter('a', { lane: `lane${n % 3}` });
      entered += 1;
      await tick();
    });
    await Promise.all(calls);
    expect([entered, limiter.inFlight, limiter.waiting]).toEqual([100, 0, 0]);
  });
});
