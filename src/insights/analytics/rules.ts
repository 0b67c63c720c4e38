import { isMetric, type Metric, METRICS, type Series } from '../../providers/registry/index.ts';
import type { DayRange } from './days.ts';

export const ALL_METRICS = Object.keys(METRICS) as readonly Metric[]; // of the object itself
export const STOCKS: readonly Metric[] = ALL_METRICS.filter((metric) => METRICS[metric].kind === 'stock');
export const FLOWS: readonly Metric[] = ALL_METRICS.filter((metric) => METRICS[metric].kind === 'flow');
const ENGAGEMENTS = ALL_METRICS.filter((metric) => 'isEngagement' in METRICS[metric]);

/** A count that can be kept: whole networks have counted less. */
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

export interface Point {
  metric: Metric;
  date: string;
  value: number;
}
export interface ToldNumbers {
  points: readonly Point[];
  /** Flows of which the network tells a series of its own. */
  own: ReadonlySet<Metric>;
  /** Metrics with values that are no counts, which are left out. */
  leftOut: readonly string[];
}

/**
 * What a network tells of a channel, as values of days. The value now of a stock, a point of `today`, is that of the
 * day that has just ended; of a flow it is a total and no series. Points of other days are left out.
 */
export function toldOfChannel(series: readonly Series[], { from, to }: DayRange, today: string): ToldNumbers {
  const points = new Map<string, Point>();
  const own = new Set<Metric>();
  const leftOut = new Set<string>();
  for (const { metric, points: told } of series) {
    if (!isMetric(metric)) {
      leftOut.add(String(metric).slice(0, 50));
      continue;
    }
    const isStock = METRICS[metric].kind === 'stock';
    if (!isStock && told.every(({ date }) => date !== today)) own.add(metric);
    for (const { date: of, value } of told) {
      const date = of === today && isStock ? to : of;
      if (date < from || date > to) continue;
      if (isCount(value)) points.set(`${metric} ${date}`, { metric, date, value });
      else leftOut.add(metric);
    }
  }
  return { points: [...points.values()], own, leftOut: [...leftOut] };
}

/** The counts of a post that can be kept. */
export const countsOfPost = (counts: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(counts).filter((count): count is [string, number] => isMetric(count[0]) && isCount(count[1])),
  );

/** The value of a metric over some days: flows add up, of a stock it is the latest; undefined without values. */
export function valueOver(metric: Metric, values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return METRICS[metric].kind === 'stock' ? values.at(-1) : values.reduce((sum, value) => sum + value, 0);
}

/** In percent, to one decimal; 0 where there was nothing before. */
export const percentageChange = (now: number | undefined, before: number | undefined): number =>
  now === undefined || !before ? 0 : Math.round(((now - before) / before) * 1_000) / 10;

/** How often somebody did something with a post. */
export const engagementOf = (counts: Readonly<Partial<Record<Metric, number>>>): number =>
  ENGAGEMENTS.reduce((sum, metric) => sum + (counts[metric] ?? 0), 0);
