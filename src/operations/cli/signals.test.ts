import { afterEach, describe, expect, test } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../platform/kernel/index.ts';
import { endOnSignal } from './signals.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const before = SIGNALS.map((signal) => process.listeners(signal));
afterEach(() =>
  SIGNALS.forEach((signal, n) =>
    process
      .listeners(signal)
      .filter((one) => !before[n]!.includes(one))
      .forEach((one) => process.off(signal, one as never)),
  ),
);

function ending(stop: () => Promise<void>, clock: Clock = systemClock) {
  const exits: number[] = [];
  const said: string[] = [];
  const end = endOnSignal(stop, { clock, say: (line) => said.push(line), exit: (code) => exits.push(code) });
  return { exits, said, end };
}

describe('a signal', () => {
  test('stops the process, then exits with 0', async () => {
    const order: string[] = [];
    const { exits } = ending(async () => void order.push('stopped'));
    process.emit('SIGTERM');
    await turn();
    await turn();
    expect([order, exits]).toEqual([['stopped'], [0]]);
  });

  test('changes nothing when it is a second one, during the stop or after', async () => {
    let stops = 0;
    let finish = () => {};
    const { exits, said } = ending(() => ((stops += 1), new Promise<void>((done) => (finish = done))));
    process.emit('SIGINT');
    process.emit('SIGTERM');
    process.emit('SIGINT');
    await turn();
    expect([stops, exits]).toEqual([1, []]);
    finish();
    await turn();
    await turn();
    process.emit('SIGTERM');
    await turn();
    expect([stops, exits]).toEqual([1, [0]]);
    expect(said.filter((line) => line.includes('already'))).toHaveLength(3);
  });

  test('exits with 1 when the stop fails or takes too long', async () => {
    const slow = ending(() => new Promise(() => {}), { ...systemClock, sleep: async () => {} });
    await slow.end('test');
    expect(slow.exits).toEqual([1]);
    const failing = ending(async () => {
      throw new Error('of the test');
    });
    await failing.end('test');
    expect(failing.exits).toEqual([1]);
    expect(failing.said.join()).toContain('of the test');
  });

  test('a fatal error ends it the same way, with its own code', async () => {
    const { exits, end } = ending(async () => {});
    await Promise.all([end('uncaught error', 1), end('again', 0)]);
    expect(exits).toEqual([1]);
  });
});
