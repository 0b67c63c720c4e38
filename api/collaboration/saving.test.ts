import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { openSaving } from './saving.ts';

/** The saving of a document on a clock that the test moves. */
function openMoved() {
  let now = 0;
  const rests = new Set<{ at: number; end(): void }>();
  const clock = {
    ...systemClock,
    monotonic: () => now,
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const rest = { at: now + ms, end: resolve };
      rests.add(rest);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      return promise.finally(() => rests.delete(rest));
    },
  };
  const done: string[] = [];
  let isWritten = true;
  const document = {
    key: { orgId: 'org', room: 'post:1' },
    get isWritten() {
      return isWritten;
    },
    async write() {
      isWritten = true;
      done.push(`${now} written`);
    },
    async agree() {
      isWritten = true;
      done.push(`${now} saved`);
    },
  };
  const told: number[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const saving = openSaving({ clock, log, document, onSaved: () => void told.push(now) });
  /** Lets everything go on that can. */
  const rest = () => new Promise<void>((next) => setImmediate(next));
  return {
    done,
    told,
    follow: saving.follow,
    async change(by: 'own' | 'others') {
      isWritten = false;
      saving.touch(by);
      await rest();
    },
    async move(ms: number) {
      now += ms;
      for (const one of rests) if (one.at <= now) one.end();
      await rest();
    },
    flush: () => saving.flush(),
  };
}

test('what clients of this process type is written at once, each two seconds, and saved after two of silence [S206]', async () => {
  const { done, told, change, move } = openMoved();
  await change('own');
  for (let n = 0; n < 30; n += 1) {
    await move(100);
    await change('own');
  }
  for (let n = 0; n < 30; n += 1) await move(100);
  expect(done).toEqual(['0 written', '2000 written', '4000 written', '5000 saved']);
  expect(told).toEqual([0, 2_000, 4_000, 5_000]);
});

test('what others type is left to them as long as they write it', async () => {
  const { done, change, move, follow } = openMoved();
  for (let n = 0; n < 600; n += 1) {
    await change('others');
    if (n % 20 === 0) follow();
    await move(100);
  }
  expect(done).toEqual([]); // in a minute
});

test('what others type is written seven seconds after they have stopped writing it, and saved', async () => {
  const { done, change, move, follow } = openMoved();
  await change('others');
  follow();
  for (let n = 0; n < 200; n += 1) {
    await move(100);
    if (n < 100) await change('others');
  }
  // typed until 10,000, and written by nobody else since 0
  expect(done).toEqual(['7000 written', '14000 written', '15000 saved']);
});

test('a client of this process that types among others is not waited with', async () => {
  const { done, change, move, follow, flush } = openMoved();
  await change('others');
  await move(1_000);
  await change('own');
  expect(done).toEqual(['1000 written']);
  follow();
  for (let n = 0; n < 20; n += 1) await move(100);
  expect(done).toEqual(['1000 written', '3000 saved']);
  await change('others');
  await flush();
  expect(done).toEqual(['1000 written', '3000 saved', '3000 saved']);
});
