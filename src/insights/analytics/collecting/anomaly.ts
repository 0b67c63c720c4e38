import { type Metric, METRICS } from '../../../providers/registry/index.ts';
import { plusDays } from '../days.ts';

/** Days that a value is held against, and how many of them must be there. */
const BASELINE_DAYS = 28;
const LEAST_DAYS = 14;
/** Where neither the value nor the mean reaches this, nothing stands out. */
const LEAST_VALUE = 10;

export interface Deviation {
  direction: 'spike' | 'drop';
  value: number;
  /** The mean of the days before, to two decimals. */
  baseline: number;
  /** In z-scores, to one decimal. */
  deviation: number;
}

const rounded = (value: number, decimals: number): number => Math.round(value * 10 ** decimals) / 10 ** decimals;

/** A day, the days that it is held against, and the day by which the change of the first of them is known. */
export const comparedDays = (day: string): string[] =>
  Array.from({ length: BASELINE_DAYS + 2 }, (_, n) => plusDays(day, -n));

/**
 * How a day of a metric stands out from the 28 days before it; undefined where it does not, or too few of them are
 * known. `days` are those of `comparedDays`, `values` are by day, `z` is the threshold. A flow is judged as it is, a
 * stock by its change since the day before.
 */
export function deviationOf(
  metric: Metric,
  values: ReadonlyMap<string, number>,
  days: readonly string[],
  z: number,
): Deviation | undefined {
  const isFlow = METRICS[metric].kind === 'flow';
  const [value, ...before] = days.slice(0, -1).map((day, n) => {
    const [of, last] = [values.get(day), isFlow ? 0 : values.get(days[n + 1]!)];
    return of === undefined || last === undefined ? undefined : of - last;
  });
  const known = before.filter((one) => one !== undefined);
  if (value === undefined || known.length < LEAST_DAYS) return undefined;
  const mean = known.reduce((sum, one) => sum + one, 0) / known.length;
  if (Math.abs(value) < LEAST_VALUE && Math.abs(mean) < LEAST_VALUE) return undefined;
  const spread = Math.sqrt(known.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (known.length - 1));
  const deviation = (value - mean) / Math.max(spread, Math.sqrt(Math.abs(mean)), 1);
  if (Math.abs(deviation) < z) return undefined;
  return {
    direction: deviation > 0 ? 'spike' : 'drop',
    value,
    baseline: rounded(mean, 2),
    deviation: rounded(deviation, 1),
  };
}
