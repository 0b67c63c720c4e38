import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Instant, Kill, Takeover, Victim } from '../../../support/processes/takeovers.ts';

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

const kills = victims.flatMap(({ victim, everyMs, stepMs }): Kill[] => {
  const of = { victim, downMs: 100 };
  const phases = Array.from({ length: everyMs / stepMs }, (_, n) => n);
  return [
    ...phases.map((n): Kill => ({ ...of, instant: IN_A_CALL[n % IN_A_CALL.length]!, phaseMs: n * stepMs })),
    { ...of, instant: 'commented', phaseMs: 1_000 },
    { ...of, instant: 'delivered', phaseMs: 1_000 },
  ];
});
let takeovers: Takeover[] = [];
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, JSON.stringify(kills)]);
  takeovers = JSON.parse(stdout) as Takeover[];
}, 600_000);

describe.each(victims)('the kill of $title', ({ victim, everyMs, stepMs }) => {
  const ofVictim = () => takeovers.filter((one) => one.victim === victim);

  test('leaves no claim unsettled for more than ten seconds, at any instant and in any phase of the timers [R3]', () => {
    expect(ofVictim()).toHaveLength(everyMs / stepMs + 2);
    expect(ofVictim().filter(({ settledMs }) => settledMs > SETTLED_MS)).toEqual([]);
  });

  test('leaves both posts of the channel out once, and none late after thirty seconds [R3]', () => {
    expect(ofVictim().filter(({ normalMs }) => normalMs > NORMAL_MS)).toEqual([]);
    expect(ofVictim().filter(({ out }) => out.some((times) => times !== 1))).toEqual([]);
  });
});

test('a kill meets the timers of the other host in all their phases', () => {
  const times = takeovers.filter(({ victim }) => victim === 'beside').map(({ settledMs }) => settledMs);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(4_000);
});
