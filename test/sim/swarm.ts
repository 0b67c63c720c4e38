import { type Answer, ANSWERS, type Weather } from './network.ts';
import { Random } from '../support/random.ts';

/** What can go wrong; each seed draws which of it does. */
export const FAULTS = [
  'crash',
  'freeze',
  'cut',
  'answers',
  'slow',
  'skew',
  'outage',
  'drain',
  'reminders',
  'people',
] as const;
export type Fault = (typeof FAULTS)[number];
/** Drawn more often than the others: most rules are about what networks answer, and what people do meanwhile. */
const OFTEN: ReadonlySet<Fault> = new Set(['answers', 'people']);
/** Hosts still do everything in time with them, so that being late can be judged: how often they are drawn then. */
export const ORDERLY: Partial<Record<Fault, number>> = { skew: 0.7, slow: 0.7, answers: 0.3 };

/** Answers that are missing for what was taken: what a network knows a repeat by is about them. */
const MISSING: ReadonlySet<Answer> = new Set(['lost', 'late']);

/** What a seed has of faults, hosts, acts and weather: swarms that differ reach more than one that has everything. */
export function drawSwarm(seed: number, without: readonly Fault[]) {
  const draw = new Random(seed, 'swarm');
  const share = draw.pick([0.15, 0.5]);
  const isOrderly = draw.chance(0.15);
  const usual = (fault: Fault) => (OFTEN.has(fault) ? Math.max(share, 0.6) : share);
  const shareOf = (fault: Fault) => (isOrderly ? (ORDERLY[fault] ?? 0) : usual(fault));
  const faults = new Set(FAULTS.filter((fault) => draw.chance(shareOf(fault)) && !without.includes(fault)));
  const rarity = draw.pick([0.25, 0.5]);
  const faulty = draw.pick([0.2, 0.4, 0.6]);
  return {
    faults,
    withPlugs: draw.chance(0.3),
    /** The share of posts with a first comment. */
    comments: draw.pick([0.1, 0.3, 0.8]),
    mostHosts: draw.pick([1, 2, 2, 3]),
    acts: draw.between(8, 40),
    haste: draw.pick([0.1, 0.6]), // the share of requests in the midst of which people do something
    /** Doors are opened in the order of their coming. */
    fifo: draw.chance(0.2),
    weather: {
      faulty: faults.has('answers') ? faulty : 0,
      kinds: ANSWERS.filter((answer) => draw.chance(MISSING.has(answer) ? 0.75 : rarity)),
      latencyMs: faults.has('slow') ? draw.pick([3_000, 15_000]) : draw.pick([50, 1_000]),
    } satisfies Weather,
    /** One host at a time stands still, most often with what it has just claimed: the others take that over. */
    inTurn: draw.chance(0.5),
  };
}
export type Swarm = Readonly<ReturnType<typeof drawSwarm>>;
