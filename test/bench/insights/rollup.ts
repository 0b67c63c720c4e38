import { fileURLToPath } from 'node:url';
import type { Options } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';
import { STOCKS } from '../../../src/insights/analytics/rules.ts';
import type { Database } from '../../../src/platform/db/index.ts';

const HOST = fileURLToPath(new URL('../processes/numbers-host.ts', import.meta.url));
const METRICS = 8;
/** Whole weeks that are rolled up. */
const WEEKS = 78;
const NEWEST = 21;

/** Days of channels that become weeks: as the sweep does it, and as plain statements over everything at once. */
export async function rollup(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const channels = options.size ?? (options.quick ? 40 : 1_000);
  const database = await world.database();
  const host = world.script(HOST, { databaseUrl: database.url });
  const rows = channels * METRICS * WEEKS * 7;
  const seeded = () => host.ask({ do: 'seed', channels, days: WEEKS * 7, newest: NEWEST });
  const weeksOf = async () => {
    const [row] = await database.sql<{ n: number; left: number }[]>`
      select (select count(*)::int from analytics_weeks) as n, (
          select count(*)::int from analytics_days
          where date < date_trunc('week', (now() at time zone 'UTC')::date - 7)::date) as left`;
    if (row!.n < channels * METRICS * WEEKS || row!.left > 0)
      throw new Error(`${row!.n} weeks were made, ${row!.left} days are left`);
    return row!.n;
  };
  const rate = (ms: number) => ({ rows_per_s: rows / (ms / 1_000) });
  const own: Side = {
    name: 'rookery',
    async run() {
      await seeded();
      const { ms, statements } = await host.ask({ do: 'rollUp' });
      const made = await weeksOf();
      const again = await host.ask({ do: 'rollUp' });
      if ((await weeksOf()) !== made) throw new Error('A second run has made weeks');
      return { ...rate(ms), statements, second_run_ms: again.ms };
    },
  };
  const peer = (name: string, work: (sql: Database) => Promise<unknown>): Side => ({
    name,
    async run() {
      await seeded();
      const begun = performance.now();
      await work(database.sql);
      const ms = performance.now() - begun;
      await weeksOf();
      return rate(ms);
    },
  });
  const compared = await interleave(
    [own, peer('split SQL', split), peer('naive SQL', naive)],
    [
      { name: 'rows, split SQL', figure: 'rows_per_s', peer: 'split SQL', better: 'greater', goal: 0.8 },
      { name: 'rows, naive SQL', figure: 'rows_per_s', peer: 'naive SQL', better: 'greater', goal: 2 },
    ],
    options,
  );
  return {
    bench: 'rollup',
    size: channels,
    ...compared,
    goals: [],
    settings: { metrics: METRICS, weeks: WEEKS, rows },
    leavesOut: ['the peers hold all rows in one transaction; the product has a commit for each round of the sweep'],
    skipped: [],
  };
}

const OLD = `date < date_trunc('week', (now() at time zone 'UTC')::date - 7)::date`;
/** One statement a kind of metric, in one transaction with the deletion. */
const split = (sql: Database) =>
  sql.begin(async (tx) => {
    await tx`
      insert into analytics_weeks (org_id, channel_id, metric, week, value, derived)
      select org_id, channel_id, metric, date_trunc('week', date::timestamp)::date, sum(value), bool_or(derived)
      from analytics_days
      where ${tx.unsafe(OLD)} and metric <> all(${[...STOCKS]}::text[])
      group by 1, 2, 3, 4`;
    await tx`
      insert into analytics_weeks (org_id, channel_id, metric, week, value, derived)
      select distinct on (org_id, channel_id, metric, date_trunc('week', date::timestamp)) org_id, channel_id, metric,
        date_trunc('week', date::timestamp)::date, value, derived
      from analytics_days
      where ${tx.unsafe(OLD)} and metric = any(${[...STOCKS]}::text[])
      order by org_id, channel_id, metric, date_trunc('week', date::timestamp), date desc`;
    await tx`delete from analytics_days where ${tx.unsafe(OLD)}`;
  });
/** Every value of a week in an array, in one transaction with the deletion. */
const naive = (sql: Database) =>
  sql.begin(async (tx) => {
    await tx`
      insert into analytics_weeks (org_id, channel_id, metric, week, value, derived)
      select org_id, channel_id, metric, date_trunc('week', date::timestamp)::date,
        case when metric = any(${[...STOCKS]}::text[]) then (array_agg(value order by date desc))[1]
          else (select sum(v) from unnest(array_agg(value)) v) end, bool_or(derived)
      from analytics_days
      where ${tx.unsafe(OLD)}
      group by 1, 2, 3, 4`;
    await tx`delete from analytics_days where ${tx.unsafe(OLD)}`;
  });
