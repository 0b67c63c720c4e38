import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Instant, Kill, Takeover, Victim } from '../../../support/worlds/publishing/takeovers.ts';

// `kill -9` in virtual time: how long what a host held stays claimed, wherever the timers of the other one stand.

const SCRIPT = fileURLToPath(new URL('../../../support/processes/scripts/takeover-process.ts', import.meta.url));
/** Every claim that the killed host had is settled, and what was late because of it is out. */
const [SETTLED_MS, NORMAL_MS] = [10_000, 30_000];

/** Of a post, one after the other over the phases. */
const IN_A_CALL: readonly Instant[] = ['claimed', 'called', 'taken', 'answered'];
const VICTIMS: Record<Victim, { title: string; everyMs: number; stepMs: number }> = {
  beside: { title: 'a host beside the one that sweeps', everyMs: 4_500, stepMs: 250 },
  sweeper: { title: 'the host that sweeps', everyMs: 2_250, stepMs: 250 },
  alone: { title: 'the only host, in whose place another one starts', everyMs: 4_500, stepMs: 900 },
};
const victims = Object.entries(VICTIMS).map(([victim, more]) => ({ victim: victim as Victim, ...more }));
/** A start that comes when the silence and the lease of the killed one are over. */
const LATER_MS = 8_000;
/** Of a start: its sweep, and the first look-up. */
const AT_ONCE_MS = 1_000;

const soon = victims.flatMap(({ victim, everyMs, stepMs }): Kill[] => {
  const of = { victim, downMs: 100 };
  const phases = Array.from({ length: everyMs / stepMs }, (_, n) => n);
  return [
    ...phases.map((n): Kill => ({ ...of, instant: IN_A_CALL[n % IN_A_CALL.length]!, phaseMs: n * stepMs })),
    { ...of, instant: 'commented', phaseMs: 1_000 },
    { ...of, instant: 'delivered', phaseMs: 1_000 },
  ];
});
const later = [...IN_A_CALL, 'commented', 'delivered'].map(
  (instant) => ({ victim: 'alone', instant, phaseMs: 0, downMs: LATER_MS }) as Kill,
);

let takeovers: Takeover[] = [];
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, JSON.stringify([...soon, ...later])]);
  takeovers = JSON.parse(stdout) as Takeover[];
}, 600_000);

describe.each(victims)('the kill of $title', ({ victim, everyMs, stepMs }) => {
  const ofVictim = () => takeovers.filter((one) => one.victim === victim && one.downMs !== LATER_MS);

  test('leaves no claim unsettled for more than ten seconds, at any instant and in any phase of the timers [R3]', () => {
    expect(ofVictim()).toHaveLength(everyMs / stepMs + 2);
    expect(ofVictim().filter(({ settledMs }) => settledMs > SETTLED_MS)).toEqual([]);
  });

  test('leaves both posts of the channel out once, and none late after thirty seconds [R3]', () => {
    expect(ofVictim().filter(({ normalMs }) => normalMs > NORMAL_MS)).toEqual([]);
    expect(ofVictim().filter(({ out }) => out.some((times) => times !== 1))).toEqual([]);
  });
});

test('the only host that starts again later settles at once what the killed one had claimed', () => {
  const all = takeovers.filter(({ downMs }) => downMs === LATER_MS);
  expect(all).toHaveLength(later.length);
  expect(all.filter(({ settledMs }) => settledMs > AT_ONCE_MS)).toEqual([]);
  expect(all.filter(({ out }) => out.some((times) => times !== 1))).toEqual([]);
});

test('a kill meets the timers of the other host in all their phases', () => {
  const times = takeovers.filter(({ victim }) => victim === 'beside').map(({ settledMs }) => settledMs);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(4_000);
});
