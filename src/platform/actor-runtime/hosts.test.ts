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
