import { expect, test } from '@jest/globals';
import { openTurns } from './limiter.ts';

/** Asks for a place and notes its key when it has one. */
function world(options: Parameters<typeof openTurns>[0]) {
  const turns = openTurns(options);
  const got: string[] = [];
  const places: Disposable[] = [];
  const ask = (key: string, signal?: AbortSignal) =>
    turns.enter(key, signal).then((place) => {
      got.push(key);
      places.push(place);
    });
  const settled = () => new Promise((done) => setImmediate(done));
  return { turns, got, places, ask, settled };
}

test('those who wait get a place in turn, however many one of them asks for', async () => {
  const { got, places, ask, settled } = world({ most: 1 });
  const asked = ['a', 'a', 'a', 'b', 'c', 'a'].map((key) => ask(key));
  for (let n = 0; n < 6; n += 1) {
    await settled();
    expect(got).toHaveLength(n + 1);
    places[n]![Symbol.dispose]();
    places[n]![Symbol.dispose](); // twice is once
  }
  await Promise.all(asked);
  expect(got).toEqual(['a', 'a', 'b', 'c', 'a', 'a']);
});

test('one of them never has all places', async () => {
  const { turns, got, places, ask, settled } = world({ most: 3, each: 2 });
  for (const key of ['a', 'a', 'a', 'b', 'b']) void ask(key);
  await settled();
  expect([got, turns.taken]).toEqual([['a', 'a', 'b'], 3]);
  places[2]![Symbol.dispose]();
  await settled();
  expect(got).toEqual(['a', 'a', 'b', 'b']);
});

test('who gives up waits no longer, and keeps nobody from a place', async () => {
  const { turns, got, places, ask, settled } = world({ most: 1 });
  void ask('a');
  const over = new AbortController();
  const given = ask('b', over.signal);
  void ask('c');
  over.abort(new Error('given up'));
  await expect(given).rejects.toThrow('given up');
  await expect(ask('d', over.signal)).rejects.toThrow('given up');
  await settled();
  places[0]![Symbol.dispose]();
  await settled();
  expect([got, turns.taken]).toEqual([['a', 'c'], 1]);
});
