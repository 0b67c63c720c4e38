import type { Clock } from '../../platform/kernel/index.ts';
import type { Metric, Series } from './_values.ts';

/** Counts of a channel that are told as they are now, as points of today; what is not told is left out. */
export const seriesOfNow = (clock: Clock, counts: Partial<Record<Metric, number | null | undefined>>): Series[] => {
  const date = clock.now().toISOString().slice(0, 10);
  return Object.entries(counts).flatMap(([metric, value]) =>
    value == null ? [] : [{ metric: metric as Metric, points: [{ date, value }] }],
  );
};
