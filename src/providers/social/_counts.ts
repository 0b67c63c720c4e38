import type { Counts, Metric } from './_values.ts';

/** Counts of a post, without those that the network did not tell. */
export const toldCounts = (given: Readonly<Partial<Record<Metric, number | null | undefined>>>): Counts =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
