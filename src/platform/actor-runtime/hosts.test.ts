import { expect, test } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { Sql } from '../db/index.ts';
import { type Clock, systemClock } from '../kernel/index.ts';
import { startHeartbeat } from './hosts.ts';

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
const ME = {
  incarnation: 'me',
  engine: 'embedded',
  address: 'here',
  host: { types: [], activations: () => ({}), mailboxes: () => ({}) } as never,
} as const;
/** A database that is asked for outages, and told of heartbeats; their statements have parts. */
const database = (answer: (isOutage: boolean) => object[]): Sql =>
  Object.assign(
    async (parts: readonly string[]) => {
      const text = parts.join('');
      return text.includes('into actor_') ? answer(text.includes('actor_outages')) : [];
    },
    { json: (value: unknown) => value },
  ) as unknown as Sql;

test('a heartbeat with a lost connection is sent again at once, one without an answer every second', async () => {
  const arrives = [true, true, false, true, false, false, false];
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const sql = database((isOutage) => {
    if (isOutage) return [];
    if (arrives.shift() === false) throw Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' });
    return [{ at: new Date() }];
  });
  const rests: number[] = [];
  const clock: Clock = {
    ...systemClock,
    async sleep(ms) {
      if (arrives.length > 0) return void rests.push(ms);
      end();
      return new Promise(() => {});
    },
  };
  const warned: string[] = [];
  await startHeartbeat({
    sql,
    clock,
    log: { ...QUIET, warn: (_detail, message) => void warned.push(message) },
    ...ME,
  });
  await over;
  expect(rests).toEqual([1_000, 1_000, 100, 1_000, 100, 1_000]);
  expect(warned).toHaveLength(2);
});

test('an outage that ends is judged before the next heartbeat, and again where that fails', async () => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const done: string[] = [];
  let silentMs = 0;
  const sql = database((isOutage) => {
    done.push(isOutage ? 'looked' : 'heartbeat');
    return isOutage ? [{ beganAt: new Date(0), endedAt: new Date(silentMs) }] : [{ at: new Date() }];
  });
  const rounds = [1_000, 59_000, 70_000, 100];
  const clock: Clock = {
    ...systemClock,
    monotonic: () => silentMs,
    async sleep() {
      const ms = rounds.shift();
      if (ms === undefined) {
        end();
        return new Promise(() => {});
      }
      silentMs += ms;
    },
  };
  let judged = 0;
  await startHeartbeat({
    sql,
    clock,
    log: QUIET,
    ...ME,
    async afterOutage() {
      done.push('judged');
      if (++judged === 2) throw new Error('The database went away again');
    },
  });
  await over;
  const start = 'looked judged heartbeat';
  const again = 'looked judged looked judged heartbeat';
  expect(done.join(' ')).toBe(`${start} heartbeat heartbeat ${again}`);
});

test('what the machine slept through is silence, though the monotonic clock stood still', async () => {
  const nightMs = 8 * 3_600_000;
  let [awakeMs, sleptMs] = [0, 0];
  const done: string[] = [];
  const wakes: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonic: () => awakeMs,
    now: () => new Date(awakeMs + sleptMs),
    sleep: () => new Promise((wake) => wakes.push(wake)),
  };
  const sql = database((isOutage) => {
    done.push(isOutage ? 'looked' : 'heartbeat');
    return isOutage ? [] : [{ at: clock.now() }];
  });
  const heartbeat = await startHeartbeat({
    sql,
    clock,
    log: QUIET,
    ...ME,
  });
  const passRest = async () => {
    wakes.shift()!();
    await turn();
  };
  awakeMs = 1_000;
  await passRest();
  expect([heartbeat.heartbeatAgeMs(), heartbeat.steadySince()]).toEqual([0, 0]);

  sleptMs = nightMs;
  awakeMs = 1_500;
  expect(heartbeat.heartbeatAgeMs()).toBe(nightMs + 500);
  awakeMs = 2_000;
  await passRest();
  expect([heartbeat.heartbeatAgeMs(), heartbeat.steadySince()]).toEqual([0, 2_000]); // nothing held before is its own
  expect(done).toEqual(['looked', 'heartbeat', 'heartbeat', 'looked', 'heartbeat']);

  sleptMs = 0; // a clock that is set back hides no silence
  awakeMs = 5_000;
  expect(heartbeat.heartbeatAgeMs()).toBe(3_000);
});
