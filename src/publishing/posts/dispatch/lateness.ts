import type { Sql } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import type { Log } from '../../../platform/telemetry/index.ts';

/** Upper bounds of the buckets, in milliseconds; the last bucket has none. */
export const BOUNDS = [
  1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 20_000,
  30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000,
] as const;
export interface LatenessFigures {
  count: number;
  p50Ms: number | null;
  p99Ms: number | null;
}

/** How late posts left the house: counted here, written a few seconds later, read for the last hour over all hosts. */
export interface Lateness {
  record(ms: number): void;
  /** Of the last hour; `null` where nothing was sent. */
  lastHour(): Promise<LatenessFigures>;
  flush(): Promise<void>;
}

/** The bound below which a share of what was counted lies. */
export function percentile(buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  const at = buckets.findIndex((count) => (seen += count) >= share * total);
  return BOUNDS[at] ?? BOUNDS.at(-1)!;
}

export function openLateness({
  sql,
  clock,
  incarnation,
  log,
}: {
  sql: Sql;
  clock: Clock;
  incarnation: string;
  log: Log;
}): Lateness & AsyncDisposable {
  let minute = 0;
  let buckets: number[] = [];
  let writing = Promise.resolve();

  function take(): { at: Date; counts: number[] } | undefined {
    if (buckets.length === 0) return undefined;
    const taken = { at: new Date(minute * 60_000), counts: buckets };
    buckets = [];
    return taken;
  }
  const write = (counted: { at: Date; counts: number[] } | undefined): Promise<void> =>
    (writing = writing
      .then(async () => {
        if (!counted) return undefined;
        await sql`
        insert into lateness as l (minute, incarnation, buckets)
        values (${counted.at}, ${incarnation}, ${counted.counts})
        on conflict (minute, incarnation) do update
        set buckets = (
          select array_agg(coalesce(a, 0) + coalesce(b, 0) order by n)
          from unnest(l.buckets, excluded.buckets) with ordinality as t (a, b, n)
        )`;
        await sql`delete from lateness where incarnation = ${incarnation} and minute < now() - interval '2 hours'`;
        return undefined;
      })
      .catch((error: unknown) =>
        log.warn({ err: error }, 'writing the lateness of posts failed, its figures lack them'),
      ));

  const writes = clock.every(5_000, () => void write(take()));
  return {
    record(ms) {
      const now = Math.floor(clock.now().getTime() / 60_000);
      if (now !== minute) void write(take());
      minute = now;
      if (buckets.length === 0) buckets = Array<number>(BOUNDS.length + 1).fill(0);
      const at = BOUNDS.findIndex((bound) => ms <= bound);
      buckets[at < 0 ? BOUNDS.length : at]! += 1;
    },
    async lastHour() {
      const rows = await sql<
        { buckets: number[] }[]
      >`select buckets from lateness where minute > now() - interval '1 hour'`;
      const sum = Array<number>(BOUNDS.length + 1).fill(0);
      for (const { buckets: counts } of rows) counts.forEach((count, at) => (sum[at]! += count));
      return { count: sum.reduce((a, b) => a + b, 0), p50Ms: percentile(sum, 0.5), p99Ms: percentile(sum, 0.99) };
    },
    flush: () => write(take()),
    async [Symbol.asyncDispose]() {
      writes[Symbol.dispose]();
      await write(take());
    },
  };
}
