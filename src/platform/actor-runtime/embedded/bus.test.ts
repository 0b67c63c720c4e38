import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { settles } from '../../../../test/support/wire/settles.ts';
import { systemClock } from '../../kernel/index.ts';
import { openEmbeddedBus } from './bus.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

test('messages reach their handler as JSON; a failing one is tried six times and harms no other', async () => {
  await using bus = openEmbeddedBus({ clock: systemClock, log, againMs: 1 });
  const heard: unknown[] = [];
  let tries = 0;
  bus.subscribe('post.published', async (message) => {
    if ((message as { bad?: boolean }).bad) {
      tries += 1;
      throw new Error('no');
    }
    heard.push(message);
  });
  await bus.publish('post.published', [{ bad: true }, { at: new Date('2026-01-01'), none: undefined }]);
  await bus.publish('nobody', [1]);
  await settles(() => expect(tries).toBe(6));
  expect(heard).toEqual([{ at: '2026-01-01T00:00:00.000Z' }]);
});

test('messages beyond the bound are dropped, and disposing waits for the running handlers', async () => {
  let handled = 0;
  let running = 0;
  {
    await using bus = openEmbeddedBus({ clock: systemClock, log });
    bus.subscribe('wake', async () => {
      running += 1;
      await sleep(5);
      running -= 1;
      handled += 1;
    });
    await bus.publish(
      'wake',
      Array.from({ length: 11_000 }, () => 0),
    );
    await sleep(12);
  }
  expect(running).toBe(0);
  expect(handled).toBeLessThan(10_000);
});
