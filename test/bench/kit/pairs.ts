import { type Figures, median, middle, rounded } from './figures.ts';
import type { Options } from './options.ts';

/** One side of a comparison: prepares and measures once. */
export interface Side {
  readonly name: string;
  run(): Promise<Figures>;
}
/**
 * `greater`: product divided by peer; `smaller`: peer divided by product. So more is always better. `of`: another side
 * than the first.
 */
export interface Comparison {
  readonly name: string;
  readonly of?: string;
  readonly figure: string;
  readonly peer: string;
  readonly better: 'greater' | 'smaller';
  readonly goal?: number;
}
/**
 * How late posts are (`late_p99_ms`) beside the same posts of the side `peer`, which has nothing else to do; `most`: so
 * many times as late at most.
 */
export const latenessBeside = (peer: string, most = 1.05): Comparison => ({
  name: `lateness of posts, p99, ${peer}`,
  figure: 'late_p99_ms',
  peer,
  better: 'smaller',
  goal: 1 / most,
});
export interface Ratio {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly goal?: number;
  readonly met?: boolean | 'not shown';
}
export interface Compared {
  readonly pairs: number;
  readonly figures: Readonly<Record<string, Figures>>;
  readonly ratios: Readonly<Record<string, Ratio>>;
}

const MOST_PAIRS = 15;
const MOST_SPREAD = 2.5;
const WORST = 0.8;

/**
 * Runs the product (first) and its peers alternately: one round to warm up, then `pairs` rounds, every second one
 * backwards. All of them are made, however long it takes. Adds rounds while a ratio spreads too far, as long as there
 * is time.
 */
export async function interleave(
  sides: readonly Side[],
  comparisons: readonly Comparison[],
  { pairs, until, say }: Pick<Options, 'pairs' | 'until' | 'say'>,
): Promise<Compared> {
  const runs = new Map<string, Figures[]>(sides.map(({ name }) => [name, []]));
  const round = async (n: number, kept: boolean): Promise<void> => {
    for (const { name, run } of n % 2 === 0 ? sides : sides.toReversed()) {
      const figures = await run();
      say(
        `${kept ? `pair ${n}` : 'warm-up'}  ${name}: ${Object.entries(figures)
          .map(([key, value]) => `${key} ${rounded(value)}`)
          .join(', ')}`,
      );
      if (kept) runs.get(name)!.push(figures);
    }
  };
  const started = performance.now();
  await round(0, false);
  let longest = performance.now() - started;
  const product = sides[0]!.name;
  const ratiosOf = ({ of = product, figure, peer, better }: Comparison): number[] =>
    runs.get(of)!.map((own, n) => {
      const other = runs.get(peer)![n]![figure]!;
      return better === 'greater' ? own[figure]! / other : other / own[figure]!;
    });
  const tooWide = () =>
    comparisons.some((one) => {
      const ratios = ratiosOf(one);
      return Math.max(...ratios) / Math.min(...ratios) > MOST_SPREAD;
    });

  let done = 0;
  while (done < pairs || (done < MOST_PAIRS && tooWide() && performance.now() + longest < until)) {
    const begun = performance.now();
    await round(done + 1, true);
    longest = Math.max(longest, performance.now() - begun);
    done += 1;
  }
  const wide = tooWide();
  return {
    pairs: done,
    figures: Object.fromEntries([...runs].map(([name, list]) => [name, middle(list)])),
    ratios: Object.fromEntries(
      comparisons.map((one) => {
        const ratios = ratiosOf(one);
        const [least, greatest] = [Math.min(...ratios), Math.max(...ratios)];
        const met =
          one.goal === undefined
            ? undefined
            : wide && greatest / least > MOST_SPREAD
              ? ('not shown' as const)
              : median(ratios) >= one.goal && least >= WORST * one.goal;
        return [
          one.name,
          {
            median: rounded(median(ratios)),
            min: rounded(least),
            max: rounded(greatest),
            ...(one.goal !== undefined && { goal: one.goal, met: met! }),
          },
        ];
      }),
    ),
  };
}
