import { expect, test } from '@jest/globals';
import type { Sql } from '../db/index.ts';
import { type Clock, systemClock } from '../kernel/index.ts';
import { startHeartbeat } from './hosts.ts';

test('a heartbeat with a lost connection is sent again at once, one without an answer every second', async () => {
  const arrives = [true, true, false, true, false, false, false];
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const sql = Object.assign(
    async (parts: readonly string[]) => {
      if (parts.join('').includes('actor_outages')) return [];
      if (arrives.shift() === false) throw Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' });
      return [{ at: new Date() }];
    },
    { json: (value: unknown) => value },
  ) as unknown as Sql;
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
    log: { debug() {}, info() {}, warn: (_detail, message) => void warned.push(message), error() {} },
    incarnation: 'me',
    engine: 'embedded',
    address: 'here',
    host: { types: [], activations: () => ({}), mailboxes: () => ({}) } as never,
  });
  await over;
  expect(rests).toEqual([1_000, 1_000, 100, 1_000, 100, 1_000]);
  expect(warned).toHaveLength(2);
});

test('an outage that ends is judged before the next heartbeat, and again where that fails', async () => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const done: string[] = [];
  let silentMs = 0;
  const sql = Object.assign(
    async (parts: readonly string[]) => {
      const isOutage = parts.join('').includes('actor_outages');
      done.push(isOutage ? 'looked' : 'heartbeat');
      return isOutage ? [{ beganAt: new Date(0), endedAt: new Date(silentMs) }] : [{ at: new Date() }];
    },
    { json: (value: unknown) => value },
  ) as unknown as Sql;
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
    log: { debug() {}, info() {}, warn() {}, error() {} },
    incarnation: 'me',
    engine: 'embedded',
    address: 'here',
    host: { types: [], activations: () => ({}), mailboxes: () => ({}) } as never,
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
