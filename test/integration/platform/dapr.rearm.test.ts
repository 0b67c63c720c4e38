import { expect, test } from '@jest/globals';
import { startRearming } from '../../../src/platform/actor-runtime/dapr/rearm-reminders.ts';
import type { SchedulerReminders } from '../../../src/platform/actor-runtime/dapr/reminders.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

/** Rests are a hundredth of what they are. */
const quickClock = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
};

test('a host whose sidecar does not answer leaves the scan for overdue reminders to another host', async () => {
  await using database = await testDatabase();
  const asked: string[] = [];
  const scan = (holder: string, rearm: () => Promise<number>) =>
    startRearming({
      reminders: {
        rearm() {
          asked.push(holder);
          return rearm();
        },
      } as unknown as SchedulerReminders,
      types: ['Ledger'],
      sql: database.sql,
      holder,
      clock: quickClock,
      log: quietLog(),
    });
  await using _mute = scan('mute', () => Promise.reject(new Error('deadline exceeded')));
  await eventually('the first host scans', () => asked.length > 0);
  await using _well = scan('well', () => Promise.resolve(0));
  await eventually('the other one does', () => asked.includes('well'), 5_000); // its lease lasts 25 s
  const since = asked.length;
  await eventually('more scans', () => asked.length > since + 3, 5_000);
  expect(new Set(asked.slice(asked.indexOf('well')))).toEqual(new Set(['well']));
});
