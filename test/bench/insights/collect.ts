import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database, Fragment } from '../../../src/platform/db/index.ts';
import type { Child } from '../kit/child.ts';
import { type Beside, duePosts } from '../kit/due-posts.ts';
import { type Figures, rounded } from '../kit/figures.ts';
import { AT_ONCE, numbersNetwork } from '../kit/numbers-network.ts';
import { CannotRun, type Options } from '../kit/options.ts';
import { interleave, latenessBeside } from '../kit/pairs.ts';
import { cpuMs } from '../kit/processes.ts';
import type { Report } from '../kit/report.ts';
import { CONTENT, seedTenants, type Tenant } from '../kit/seed.ts';
import { ENCRYPTION_KEY, openWorld, type Provider, type World } from '../kit/world.ts';

const HOST = fileURLToPath(new URL('./processes/collect-host.ts', import.meta.url));
const ORGS = 100;
/** Posts that fall due meanwhile; the last one as long after the first as a collection takes at least. */
const DUE_PER_SECOND = 40;
const MOST_CHANNELS_PER_SECOND = 400;
/** Days before yesterday that were collected: what stands out is judged by them. */
const HISTORY_DAYS = 29;
/** Of a channel: what the network tells of it, and what its posts have gained. */
const METRICS = 5;
const MOST_MIB = 128;
const WITHOUT = 'without the collection';

interface Run {
  sql: Database;
  tenants: readonly Tenant[];
  world: World;
  provider: Provider;
  host: Child;
  channels: number;
  /** Published posts of each channel, which are counted. */
  published: number;
  /** Posts that fall due. */
  due: number;
}

/**
 * The numbers of channels and of their posts, collected as in a night: how fast, for how much, by how many calls, and
 * whether posts that fall due meanwhile are later than they are without.
 */
export async function collect(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  await using world = await openWorld(options);
  const { quick } = options;
  const channels = options.size ?? (quick ? 200 : 10_000);
  const published = quick ? 5 : 30;
  const due = Math.ceil((channels / MOST_CHANNELS_PER_SECOND) * DUE_PER_SECOND);
  const provider = await world.provider();
  const { sql, url: databaseUrl } = await world.database();
  const tenants = await seedTenants(sql, { orgs: ORGS, channels });
  await sql`update channels set provider_id = ${numbersNetwork.id}`;
  await seedPublished(sql, published);
  await seedHistory(sql, published);
  const folder = join(world.folder, 'collect');
  mkdirSync(folder);
  const host = world.script(HOST, {
    databaseUrl,
    folder,
    encryptionKey: ENCRYPTION_KEY,
    networkUrl: provider.url,
  });
  await host.ask({ do: 'ready' });

  const run: Run = { sql, tenants, world, provider, host, channels, published, due };
  const compared = await interleave(
    [
      { name: 'rookery', run: () => measuredRun(run, collected) },
      { name: WITHOUT, run: () => measuredRun(run) },
    ],
    [latenessBeside(WITHOUT)],
    options,
  );
  const { rookery, [WITHOUT]: without } = compared.figures as Record<string, Record<string, number>>;
  const own = rookery!;
  const perChannel = (name: string) => rounded(((own[name]! - without![name]!) * 1_000) / channels);
  return {
    bench: 'collect',
    size: channels,
    ...compared,
    figures: {
      ...compared.figures,
      rookery: {
        ...own,
        cpu_ms_per_channel: perChannel('cpu_s'),
        postgres_cpu_ms_per_channel: perChannel('postgres_cpu_s'),
      },
    },
    goals: [
      { name: 'calls of the network more or fewer than its batches declare', value: own['undeclared_calls']!, most: 0 },
      { name: 'numbers that are missing', value: own['missing_numbers']!, most: 0 },
      { name: 'memory of the process beyond that before, MiB', value: own['peak_mib']!, most: MOST_MIB },
      { name: 'posts that fell due while it ran, of all that did', value: own['due_beside']!, least: 1 },
      { name: 'early', value: own['early']!, most: 0 },
      { name: 'doubled', value: own['doubled']!, most: 0 },
    ],
    settings: {
      orgs: ORGS,
      posts: published,
      atOnce: AT_ONCE,
      historyDays: HISTORY_DAYS,
      due,
      duePerSecond: DUE_PER_SECOND,
    },
    leavesOut: [
      'the processor time of a channel is that of the run less that of the posts alone; the longer run idles longer',
    ],
    skipped: [],
  };
}

/** So many posts of each channel, one of each day until yesterday. */
async function seedPublished(sql: Database, posts: number): Promise<void> {
  await sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, content_clean, publish_date, published_at,
      release_id, release_url)
    select id, org_id, channel_id, id::text, 'PUBLISHED', ${CONTENT}, true, at, at, 'r-' || id,
      'https://sandbox.example/' || id
    from (
      select gen_random_uuid() as id, c.org_id, c.id as channel_id,
        ((now() at time zone 'UTC')::date - n + time '12:00') at time zone 'UTC' as at
      from channels c, generate_series(1, ${posts}::int) n
    ) made`;
  await sql`vacuum (analyze) posts`;
}

/** What the nights before have kept: so much that nothing of this one stands out. */
async function seedHistory(sql: Database, posts: number): Promise<void> {
  await sql`
    insert into analytics_days (org_id, channel_id, metric, date, value, derived)
    select c.org_id, c.id, m.metric, ${yesterday(sql)} - d, m.value, m.derived
    from channels c, generate_series(1, ${HISTORY_DAYS}::int) d, (
      values ('followers', 1000::float8, false), ('posts', 30, false), ('likes', ${posts}::float8, true),
        ('comments', ${posts}::float8, true), ('reposts', ${posts}::float8, true)
    ) m (metric, value, derived)`;
  await sql`
    insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
    select org_id, channel_id, id, ${yesterday(sql)} - 1, '{"likes": 2, "comments": 1, "reposts": 0}'
    from posts
    where published_at < ${yesterday(sql)}::timestamp at time zone 'UTC'`;
  await sql`vacuum (analyze) analytics_days, analytics_post_days`;
}

const yesterday = (sql: Database): Fragment => sql`((now() at time zone 'UTC')::date - 1)`;

/** Takes away what a run has written, and leaves what was seeded before it. */
async function clear(sql: Database): Promise<void> {
  await sql`truncate outbox`;
  await sql`delete from analytics_runs`;
  await sql`delete from analytics_days where date = ${yesterday(sql)}`;
  await sql`delete from analytics_post_days where date = ${yesterday(sql)}`;
  await sql`delete from posts where creation_method = 'API'`;
  await sql`vacuum analytics_days, analytics_post_days, posts`;
}

/** Has posts fall due one after another, with or without something beside them. */
async function measuredRun(run: Run, beside?: (run: Run) => Promise<Beside>): Promise<Figures> {
  const { sql, world, host } = run;
  await clear(sql);
  return duePosts(
    {
      ...run,
      perSecond: DUE_PER_SECOND,
      counters: () => ({ cpu_s: cpuMs([host.pid]) / 1_000, postgres_cpu_s: world.postgresCpuMs() / 1_000 }),
    },
    beside && (() => beside(run)),
  );
}

/** A collection of all channels. */
async function collected({ sql, provider, host, channels, published }: Run): Promise<Beside> {
  const { began, ms, peakMib } = (await host.ask({ do: 'collect' })) as { began: number; ms: number; peakMib: number };
  const declared = channels * (1 + Math.ceil(published / AT_ONCE));
  const [row] = await sql<{ kept: number }[]>`
    select ((select count(*) from analytics_days where date = ${yesterday(sql)})
      + (select count(*) from analytics_post_days where date = ${yesterday(sql)}))::int as kept`;
  return {
    figures: {
      channels_per_s: channels / (ms / 1_000),
      peak_mib: peakMib,
      undeclared_calls: Math.abs((await provider.readings()) - declared),
      missing_numbers: channels * (METRICS + published) - row!.kept,
    },
    ranAt: (moment) => moment >= began && moment <= began + ms,
  };
}
