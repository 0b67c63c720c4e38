import { afterAll, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { testApp } from '../../support/worlds/app.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import { counted } from '../../support/worlds/counted.ts';
import { settles } from '../../support/wire/settles.ts';

// Counts have no noise: what an update costs that a hundred people read.

const world = await openCoEditing();
afterAll(world.close);

/** A clock that a test moves: rests of half a second and more end when it has passed them. */
function openMovedClock() {
  let now = 0;
  const rests = new Set<{ at: number; end(): void }>();
  return {
    ...systemClock,
    monotonic: () => now,
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      if (ms < 500) return systemClock.sleep(ms, signal);
      if (signal?.aborted) return Promise.reject(signal.reason);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const rest = { at: now + ms, end: resolve };
      rests.add(rest);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      return promise.finally(() => rests.delete(rest));
    },
    move(ms: number): void {
      now += ms;
      for (const rest of rests) if (rest.at <= now) rest.end();
    },
  };
}

test('an update that a hundred people read is no statement; a document is written once in two seconds (H19)', async () => {
  const clock = openMovedClock();
  const app = await testApp({ sql: world.db.sql, clock, ...world.world.beside });
  const room = `post:${await world.draft('<p>Begin</p>')}`;
  const people = await Promise.all(Array.from({ length: 5 }, () => world.member('editor')));
  const readers = await Promise.all(
    people.flatMap(({ key }) =>
      Array.from({ length: 20 }, () => world.joined(room, { headers: { authorization: key } }, app.address)),
    ),
  );
  const [writer] = readers as [(typeof readers)[number]];
  const type = async (word: string) => {
    writer.write(word);
    await settles(() => {
      for (const { xml } of readers) if (!xml.includes(word)) throw new Error(`${word} is not there yet`);
    });
  };
  const stored = async () => (await world.stored(room))!.version;
  const writes = () =>
    world.db.statements.filter((text) => /(insert into|update) collaboration_documents\b/i.test(text)).length;

  const first = await stored();
  await type('first');
  await settles(async () => expect(await stored()).toBe(first + 1)); // the first change is written at once
  const { texts } = await counted(world.db.statements, async () => {
    for (let n = 0; n < 20; n += 1) await type(`update-${n}.`);
  });
  // those who came are noted by their keys a moment later
  expect(texts.filter((text) => !/^update api_keys k\s+set last_used_at/.test(text))).toEqual([]);

  const before = writes();
  for (let n = 0; n < 60; n += 1) {
    await type(`later-${n}.`);
    clock.move(100);
  }
  await settles(() => expect(writes() - before).toBeGreaterThanOrEqual(1));
  expect(writes() - before).toBeLessThanOrEqual(3); // in six seconds
  for (const { socket } of readers) socket.terminate();
  await app[Symbol.asyncDispose]();
});
