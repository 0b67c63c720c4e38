import { type Metric, METRICS } from '../../../providers/registry/index.ts';
import { plusDays } from '../days.ts';

/** Days that a value is held against, and how many of them must be there. */
export const BASELINE_DAYS = 28;
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

/** The value of a day as it is judged: a flow as it is, a stock by its change since the day before. */
function judgedValue(metric: Metric, values: ReadonlyMap<string, number>, day: string): number | undefined {
  const value = values.get(day);
  if (value === undefined || METRICS[metric].kind === 'flow') return value;
  const before = values.get(plusDays(day, -1));
  return before === undefined ? undefined : value - before;
}

/**
 * How a day of a metric stands out from the 28 days before it; undefined where it does not, or too few of them are
 * known. `values` are by day, `z` is the threshold.
 */
export function deviationOf(
  metric: Metric,
  values: ReadonlyMap<string, number>,
  day: string,
  z: number,
): Deviation | undefined {
  const value = judgedValue(metric, values, day);
  const before = Array.from({ length: BASELINE_DAYS }, (_, n) => judgedValue(metric, values, plusDays(day, -1 - n)));
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
