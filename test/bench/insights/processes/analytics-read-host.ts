// A process of the product for the benchmark `analytics-read`: numbers of channels at the door, and the same by hand.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { STOCKS } from '../../../../src/insights/analytics/rules.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';
import { percentile } from '../../kit/figures.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
let statements = 0;
const sql = openDatabase({ url: databaseUrl, onStatement: () => void (statements += 1) });
const { context } = await testApp({ sql });
const { analytics } = context;
const METRICS = ['followers', 'views', 'likes', 'comments', 'shares', 'reach', 'clicks', 'saves'];
const SHOWN_DAYS = 30;
const WEEKS_DAYS = 365;

interface Place {
  orgId: string;
  channelId: string;
}
/** The channels, one of each organization after the other. */
const places = async (): Promise<Place[]> => sql<Place[]>`
  select org_id as "orgId", id as "channelId"
  from channels
  order by internal_id::int`;
const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
type Read = 'channel' | 'weeks' | 'overview';

/** Each answers how many values it has read. */
const own: Readonly<Record<Read, (place: Place) => Promise<number>>> = {
  async channel({ orgId, channelId }) {
    const series = await analytics.getChannelNumbers(orgId, channelId, SHOWN_DAYS);
    return series.reduce((sum, { data }) => sum + data.length, 0);
  },
  async weeks({ orgId, channelId }) {
    const asked = { from: day(WEEKS_DAYS), to: day(0), interval: 'week' as const };
    return (await analytics.getHistory(orgId, channelId, asked)).points.length;
  },
  async overview({ orgId }) {
    const channels = await analytics.getOverview(orgId, { from: day(SHOWN_DAYS), to: day(1) });
    return channels.reduce((sum, { metrics }) => sum + Object.keys(metrics).length, 0);
  },
};
/** As somebody would write it who has nothing but the tables. */
const byHand: typeof own = {
  async channel({ orgId, channelId }) {
    const rows = await sql<{ date: string }[]>`
      select metric, date::text as date, value
      from analytics_days
      where org_id = ${orgId} and channel_id = ${channelId} and date between ${day(2 * SHOWN_DAYS)}::date and ${day(1)}::date
      order by metric, date`;
    return rows.filter(({ date }) => date >= day(SHOWN_DAYS)).length;
  },
  async weeks({ orgId, channelId }) {
    const rows = await sql`
      select metric, date_trunc('week', date::timestamp)::date::text as week,
        case when metric = any(${[...STOCKS]}::text[]) then (array_agg(value order by date desc))[1]
          else sum(value) end as value
      from analytics_days
      where org_id = ${orgId} and channel_id = ${channelId} and date between ${day(WEEKS_DAYS)}::date and ${day(0)}::date
      group by 1, 2
      order by 1, 2`;
    return rows.length;
  },
  async overview({ orgId }) {
    const [from, before] = [day(SHOWN_DAYS), day(2 * SHOWN_DAYS)];
    const rows = await sql`
      select channel_id, metric,
        case when metric = any(${[...STOCKS]}::text[])
          then (array_agg(current order by day desc) filter (where current is not null))[1]
          else sum(current) end as value,
        case when metric = any(${[...STOCKS]}::text[])
          then (array_agg(earlier order by day desc) filter (where earlier is not null))[1]
          else sum(earlier) filter (where current is not null) end as previous
      from (
        select channel_id, metric, case when date < ${from}::date then date + ${SHOWN_DAYS}::int else date end as day,
          max(value) filter (where date >= ${from}::date) as current,
          max(value) filter (where date < ${from}::date) as earlier
        from analytics_days
        where org_id = ${orgId} and date between ${before}::date and ${day(1)}::date
        group by 1, 2, 3
      ) pairs
      group by 1, 2
      order by 1, 2`;
    return rows.length;
  },
};

/** So many callers for so long, each with another channel at every read. */
async function load(read: (place: Place) => Promise<number>, { callers, ms }: { callers: number; ms: number }) {
  const all = await places();
  const values = await read(all[0]!); // its plan is made
  const latencies: number[] = [];
  let next = 0;
  statements = 0;
  const cpu = process.cpuUsage();
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let at = performance.now(); at < begun + ms;) {
        await read(all[(next += 1) % all.length]!);
        const now = performance.now();
        latencies.push(now - at);
        at = now;
      }
    }),
  );
  const took = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  return {
    perSecond: (latencies.length * 1_000) / took,
    p99Ms: percentile(latencies, 0.99),
    cpuMsPerRead: (user + system) / 1_000 / latencies.length,
    statementsPerRead: statements / latencies.length,
    values,
  };
}

answering({
  /** Organizations with channels that have a value of each metric for each of the last days. */
  async seed({ orgs, channels, days }: { orgs: number; channels: number; days: number }) {
    const ids = Array.from({ length: orgs }, newId);
    await sql`insert into organizations (id, name) select id, 'Bench' from unnest(${ids}::uuid[]) id`;
    await sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      select gen_random_uuid(), o.id, 'sandbox', 'v1', (n * ${orgs}::int + o.place)::text, 'Channel ' || n, ''
      from unnest(${ids}::uuid[]) with ordinality as o (id, place), generate_series(0, ${channels - 1}::int) n`;
    for (let d = 1; d <= days; d += 60)
      // in parts that are short transactions
      await sql`
        insert into analytics_days (org_id, channel_id, metric, date, value)
        select c.org_id, c.id, m, (now() at time zone 'UTC')::date - d, d
        from generate_series(${d}::int, ${Math.min(days, d + 59)}::int) d, channels c, unnest(${METRICS}::text[]) m`;
    await sql`vacuum (analyze) analytics_days, channels`;
  },
  read: ({ read, ...how }: { read: Read; callers: number; ms: number }) => load(own[read], how),
  byHand: ({ read, ...how }: { read: Read; callers: number; ms: number }) => load(byHand[read], how),
});
