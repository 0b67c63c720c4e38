import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { openLimiter } from './limiter.ts';
import { FairQueue } from './queues.ts';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Bounds {
  total: number;
  perLane: number;
  perOwner: number | 'share';
}
interface Dealer {
  /** Calls back with the way to leave when there is a place; answers how to give up, where that can be done. */
  ask(owner: string, lane: string, onPlace: (leave: (hung: boolean) => void) => void): (() => void) | undefined;
}
const limiter = (bounds: Bounds): Dealer => {
  const places = openLimiter(bounds);
  return {
    ask(owner, lane, onPlace) {
      const over = new AbortController();
      places.enter(owner, { lane, signal: over.signal }).then(
        (place) => onPlace(place.leave),
        () => {},
      );
      return () => over.abort();
    },
  };
};
/** A queue whose items are worked on a few at a time, as nudges and reminders are. */
const fairQueue = ({ total }: Bounds): Dealer => {
  const queue = new FairQueue<(leave: () => void) => void>();
  let atWork = 0;
  function pump(): void {
    while (atWork < total) {
      const onPlace = queue.shift();
      if (!onPlace) return;
      atWork += 1;
      onPlace(() => {
        atWork -= 1;
        pump();
      });
    }
  }
  return {
    ask(owner, _lane, onPlace) {
      queue.push(owner, onPlace);
      pump();
      return undefined;
    },
  };
};

interface Waiting {
  owner: string;
  lane: string;
  giveUp: (() => void) | undefined;
}
interface Held {
  owner: string;
  lane: string;
  weight: number;
  leave: (hung: boolean) => void;
}

/**
 * What is known of a dealer from outside: it checks each place when it is given, and what waits when nothing moves any
 * more.
 */
function model(dealer: Dealer, { total, perLane, perOwner }: Bounds, oneLane: boolean) {
  const waiting: Waiting[] = [];
  const inside: Held[] = [];
  const hanging = new Set<string>();
  const broken: unknown[] = [];
  /** By `<who waits> <who had a place meanwhile>`: places since the former could have had one. */
  const overtaken = new Map<string, number>();
  const weight = (owner: string) => inside.reduce((sum, one) => sum + (one.owner === owner ? one.weight : 0), 0);
  const mayHave = ({ owner, lane }: Pick<Waiting, 'owner' | 'lane'>) =>
    inside.length < total &&
    inside.filter((one) => one.lane === lane).length < perLane &&
    weight(owner) < (perOwner === 'share' ? total - inside.length : perOwner);
  const startAnew = (owner: string) =>
    [...overtaken.keys()].filter((key) => key.startsWith(`${owner} `)).forEach((key) => overtaken.delete(key));

  function given(one: Waiting, leave: Held['leave']): void {
    expect(mayHave(one)).toBe(true);
    if (oneLane)
      for (const other of new Set(
        waiting.filter((waits) => waits.owner !== one.owner && mayHave(waits)).map(({ owner }) => owner),
      )) {
        if (perOwner === 'share') expect(weight(one.owner)).toBeLessThanOrEqual(weight(other));
        if (perOwner === 'share' && weight(one.owner) < weight(other)) continue;
        const times = (overtaken.get(`${other} ${one.owner}`) ?? 0) + 1;
        expect(times).toBe(1);
        overtaken.set(`${other} ${one.owner}`, times);
      }
    startAnew(one.owner);
    waiting.splice(waiting.indexOf(one), 1);
    inside.push({ ...one, weight: hanging.has(one.lane) ? 2 : 1, leave });
  }

  return {
    inside,
    waiting,
    ask(owner: string, lane: string): void {
      if (!waiting.some((one) => one.owner === owner)) startAnew(owner);
      const one: Waiting = { owner, lane, giveUp: undefined };
      waiting.push(one);
      one.giveUp = dealer.ask(owner, lane, (leave) => {
        try {
          given(one, leave);
        } catch (error) {
          broken.push(error);
        }
      });
    },
    leave(n: number, hung: boolean): void {
      const [one] = inside.splice(n, 1);
      if (!one) return;
      hanging.delete(one.lane);
      if (hung) hanging.add(one.lane);
      startAnew(one.owner);
      one.leave(hung);
    },
    giveUp(n: number): void {
      const one = waiting[n];
      if (!one?.giveUp) return;
      waiting.splice(n, 1);
      one.giveUp();
    },
    /** Nobody waits who may have a place, and every place was given as it should be. */
    check(): void {
      if (broken.length > 0) throw broken[0];
      for (const one of waiting) expect(mayHave(one)).toBe(false);
    },
  };
}

const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ owner: fc.nat(4), lane: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ leave: fc.nat(30), hung: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ giveUp: fc.nat(30) }) },
);
const perLane = fc.integer({ min: 1, max: 3 });

describe.each<[string, (bounds: Bounds) => Dealer, fc.Arbitrary<Pick<Bounds, 'perLane' | 'perOwner'>>]>([
  ['a limiter with a share for each owner', limiter, fc.record({ perLane, perOwner: fc.constant('share' as const) })],
  ['a limiter with places for each owner', limiter, fc.record({ perLane, perOwner: fc.integer({ min: 1, max: 4 }) })],
  [
    'a limiter without lanes',
    limiter,
    fc.record({ perLane: fc.constant(Infinity), perOwner: fc.constantFrom('share' as const, 1, 2, Infinity) }),
  ],
  [
    'a fair queue with some at work',
    fairQueue,
    fc.record({ perLane: fc.constant(Infinity), perOwner: fc.constant(Infinity) }),
  ],
])('%s', (_name, open, limits) => {
  test('scheduling keeps every bound, leaves no free place unused, alternates owners and starves nobody', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        limits,
        fc.array(action, { maxLength: 120 }),
        async (total, given, actions) => {
          const bounds = { total, ...given };
          const oneLane = bounds.perLane === Infinity;
          const known = model(open(bounds), bounds, oneLane);
          for (const step of actions) {
            if ('leave' in step) known.leave(step.leave % Math.max(known.inside.length, 1), step.hung);
            else if ('giveUp' in step) known.giveUp(step.giveUp % Math.max(known.waiting.length, 1));
            else known.ask(`org${step.owner}`, oneLane ? '' : `lane${step.lane}`);
            await tick();
            known.check();
          }
          while (known.inside.length > 0) {
            known.leave(known.inside.length - 1, false);
            await tick();
            known.check();
          }
          expect(known.waiting).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
