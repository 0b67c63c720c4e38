// A process of the product for the benchmarks `rollup` and `export`: numbers of channels, at the door.
import { pipeline } from 'node:stream/promises';
import { Readable, Writable } from 'node:stream';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testApp } from '../../support/worlds/app.ts';
import { answering } from '../kit/answering.ts';
import { measured } from '../kit/memory.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
let statements = 0;
const sql = openDatabase({ url: databaseUrl, onStatement: () => void (statements += 1) });
const { context } = await testApp({ sql, env: { ANALYTICS_DAILY_RETENTION_DAYS: '7' } });
const METRICS = ['followers', 'views', 'likes', 'comments', 'shares', 'reach', 'clicks', 'saves'];
const rollUp = context.sweeps.find(({ name }) => name === 'analytics-weeks')!.run;
const ROUND = 500;

/** Takes whatever comes, and counts it. */
function sink() {
  const seen = { bytes: 0, lines: 0 };
  const stream = new Writable({
    write(piece: Buffer, _, done) {
      seen.bytes += piece.length;
      for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) seen.lines += 1;
      done();
    },
  });
  return { seen, stream };
}

answering({
  /** Channels with a value for each metric of each day; the newest day is `newest` days ago. */
  async seed({ channels, days, newest }: { channels: number; days: number; newest: number }) {
    await sql`truncate analytics_days, analytics_weeks`;
    await sql`delete from organizations`;
    const orgId = newId();
    await sql`insert into organizations (id, name) values (${orgId}, 'Bench')`;
    await sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      select gen_random_uuid(), ${orgId}, 'sandbox', 'v1', n::text, 'Channel ' || n, ''
      from generate_series(1, ${channels}::int) n`;
    await sql`
      insert into analytics_days (org_id, channel_id, metric, date, value)
      select c.org_id, c.id, m, (now() at time zone 'UTC')::date - ${newest}::int - d, d
      from generate_series(0, ${days - 1}::int) d, channels c, unnest(${METRICS}::text[]) m`;
    await sql`analyze analytics_days, channels`;
    return orgId;
  },
  /** The roll-up as the sweeper makes it, until nothing is left. */
  async rollUp() {
    const begun = performance.now();
    statements = 0;
    for (let looked = ROUND; looked >= ROUND;) looked = await rollUp(ROUND);
    return { ms: performance.now() - begun, statements };
  },
  async export({ orgId, from, to }: { orgId: string; from: string; to: string }) {
    const { seen, stream } = sink();
    statements = 0;
    const spent = await measured(async () => {
      const lines = await context.analytics.exportNumbers(orgId, { from, to });
      await pipeline(Readable.from(lines), stream);
    });
    return { ...spent, ...seen, statements };
  },
  /** The same rows as Postgres writes them. */
  async copy({ orgId, from, to }: { orgId: string; from: string; to: string }) {
    const { seen, stream } = sink();
    const spent = await measured(async () => {
      const rows = await sql
        .unsafe(`
        copy (
          select d.date, 'day', d.channel_id, c.name, c.provider_id, d.metric, d.value, d.derived
          from analytics_days d
          join channels c on c.id = d.channel_id and c.org_id = d.org_id and c.deleted_at is null
          where d.org_id = '${orgId}' and d.date between '${from}' and '${to}'
          order by d.date, d.channel_id, d.metric
        ) to stdout with (format csv)`)
        .readable();
      await pipeline(rows, stream);
    });
    return { ...spent, ...seen };
  },
});
