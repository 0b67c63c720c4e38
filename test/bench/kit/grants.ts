import { type Figures, percentile } from './figures.ts';

/**
 * So many requests by so many callers for what there is less of; `take` answers whether it was granted. The rate is
 * that of the grants, up to the last one.
 */
export async function raceFor(
  callers: number,
  requests: number,
  take: () => Promise<boolean>,
): Promise<{ granted: number; refused: number; figures: Figures }> {
  const latencies: number[] = [];
  const started = performance.now();
  let last = started;
  let begun = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (begun++ < requests) {
        const asked = performance.now();
        if (!(await take())) continue;
        last = performance.now();
        latencies.push(last - asked);
      }
    }),
  );
  latencies.sort((a, b) => a - b);
  const granted = latencies.length;
  return {
    granted,
    refused: requests - granted,
    figures: {
      grants_per_s: (granted * 1_000) / (last - started),
      p50_ms: percentile(latencies, 0.5),
      p99_ms: percentile(latencies, 0.99),
    },
  };
}
