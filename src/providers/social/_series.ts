import type { Clock } from '../../platform/kernel/index.ts';
import type { Counts, Metric, Series } from './_values.ts';

/** Counts of a channel that are told as they are now, as points of today. */
export const seriesOfNow = (clock: Clock, counts: Counts): Series[] =>
  Object.entries(counts).map(([metric, value]) => ({
    metric: metric as Metric, // the keys of counts
    points: [{ date: clock.now().toISOString().slice(0, 10), value }],
  }));
