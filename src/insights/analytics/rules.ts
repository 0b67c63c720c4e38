import { isMetric, type Metric, METRICS, type Series } from '../../providers/registry/index.ts';
import { type DayRange, lengthOf, plusDays } from './days.ts';

export const ALL_METRICS = Object.keys(METRICS) as readonly Metric[]; // of the object itself
export const STOCKS: readonly Metric[] = ALL_METRICS.filter((metric) => METRICS[metric].kind === 'stock');
export const FLOWS: readonly Metric[] = ALL_METRICS.filter((metric) => METRICS[metric].kind === 'flow');
const ENGAGEMENTS = ALL_METRICS.filter((metric) => 'isEngagement' in METRICS[metric]);

const WEEK_DAYS = 7;
/** Days of a channel that are asked for each time (AN6): networks tell some late, and correct others. */
export const CHANNEL_DAYS = 7;

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

/** In percent, to one decimal; 0 where there was nothing before. */
export const percentageChange = (now: number | undefined, before: number | undefined): number =>
  now === undefined || !before ? 0 : Math.round(((now - before) / before) * 1_000) / 10;

/** A value of a day, or of the ISO week that begins on it. */
export interface ValueOf {
  date: string;
  value: number;
  interval: 'day' | 'week';
}
const byDay = ({ date, value, interval }: ValueOf): [day: string, value: number][] =>
  interval === 'day'
    ? [[date, value]]
    : Array.from({ length: WEEK_DAYS }, (_, n) => [plusDays(date, n), value / WEEK_DAYS]);

/**
 * Values by days alone, for whom no interval can be told: of a flow each day has its seventh of a week, as in the
 * overview, so that no week reads as one great day. A stock keeps its one value of the week, at the Monday.
 */
export const dailyOf = (metric: Metric, values: readonly ValueOf[]): { date: string; value: number }[] =>
  METRICS[metric].kind === 'stock'
    ? values.map(({ date, value }) => ({ date, value }))
    : values.flatMap(byDay).map(([date, value]) => ({ date, value: Math.round(value * 100) / 100 }));

/**
 * The change of a metric in a range since as many days before, from its values by date. Of a stock the latest of both
 * count; of a flow the days that both times know, so that a day that is missing is no fall.
 */
export function changeOver(metric: Metric, values: readonly ValueOf[], range: DayRange): number {
  if (METRICS[metric].kind === 'stock') {
    const before = values.findLast(({ date }) => date < range.from);
    return percentageChange(values.at(-1)?.value, before?.value);
  }
  const known = new Map(values.flatMap(byDay));
  let [now, then] = [0, 0];
  for (const [day, value] of known) {
    const before = day < range.from ? undefined : known.get(plusDays(day, -lengthOf(range)));
    if (before === undefined) continue;
    now += value;
    then += before;
  }
  return percentageChange(now, then);
}

/** How often somebody did something with a post. */
export const engagementOf = (counts: Readonly<Partial<Record<Metric, number>>>): number =>
  ENGAGEMENTS.reduce((sum, metric) => sum + (counts[metric] ?? 0), 0);
