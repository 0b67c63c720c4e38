import type { Figures } from './kit/figures.ts';
import { rounded } from './kit/figures.ts';
import { dayOf, DAYS, FIRST, seedHistory, statementOfList } from './kit/history.ts';
import type { Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import type { Report } from './kit/report.ts';
import { openRequestLoad, type Target } from './kit/requests.ts';
import { seedTenants, type Tenant } from './kit/seed.ts';
import { openWorld } from './kit/world.ts';
import type { TestDatabase } from '../support/wire/database.ts';
import type { LoadRequest } from './request-load.ts';

const CALLERS = 32;
const PAGE = 50;
/** One organization in so many has the pages that are asked for. */
const ORGS = 10;
const PLACES = 64;
const CONNECTIONS = 8;
const PEERS = { fastify: 'fastify@5.12.8', express: 'express@5.3.0' } as const;

/** A page of posts, through everything that a request passes: a new one, one that has not changed, and one far behind. */
export async function list(options: Options): Promise<Report> {
  const { quick, say } = options;
  await using world = await openWorld(options);
  const total = options.size ?? (quick ? 20_000 : 200_000);
  const ms = quick ? 1_500 : 5_000;
  const database = await world.database();
  const tenants = await seedTenants(database.sql, { orgs: ORGS, channels: ORGS });
  const [tenant] = tenants as [Tenant];
  await seedHistory(database, tenants, total / ORGS);
  say(`${total} posts, ${total / ORGS} of them of one organization`);

  const { url, apps } = await world.product(database);
  const statement = await statementOfList(database, tenant);
  const product: Target = { url, pids: apps };
  const settings = { databaseUrl: database.url, connections: CONNECTIONS, statement };
  const peers = await Promise.all(
    (Object.keys(PEERS) as (keyof typeof PEERS)[]).map(async (server) => {
      const child = await world.peer('list.mjs', { ...settings, server });
      const { url: address } = (await child.ask({ do: 'listen', tenants })) as { url: string };
      return { name: PEERS[server], child, target: { url: address, pids: [child.pid] } };
    }),
  );
  const load = openRequestLoad(world, CALLERS);

  const first = Array.from({ length: PLACES }, (_, n) => pageOf(tenant, { from: dayOf((n * DAYS * 0.8) / PLACES) }));
  const deep = await pagesFarBehind(database, tenant, total / ORGS);
  const half = rounded((await load.closed(product, first, ms)).perSecond / 2);
  say(`open loop at ${half} a second: half of the product's rate`);

  const measured = async (target: Target): Promise<Figures> => {
    const known = await withTags(target, first);
    const postgres = world.postgresCpuMs();
    const page = await load.closed(target, first, ms);
    const spent = world.postgresCpuMs() - postgres;
    const unchanged = await load.closed(target, known, ms);
    return {
      pages_per_s: page.perSecond,
      cpu_ms_per_page: page.cpuMs,
      postgres_cpu_ms_per_page: spent / page.answered,
      bytes_per_page: page.bytes,
      unchanged_per_s: unchanged.perSecond,
      unchanged_cpu_ms_per_page: unchanged.cpuMs,
      unchanged_bytes_per_page: unchanged.bytes,
      ...(await load.open(target, first, ms / 2, half)),
    };
  };
  const sides: Side[] = [
    {
      name: 'rookery',
      run: async () => ({
        ...(await measured(product)),
        far_behind_per_s: (await load.closed(product, deep, ms)).perSecond,
      }),
    },
    ...peers.map(({ name, target }): Side => ({ name, run: () => measured(target) })),
    {
      name: 'the statement alone, postgres@3.4.9',
      run: () =>
        peers[0]!.child.ask({
          do: 'statements',
          orgId: tenant.orgId,
          ranges: rangesOf(),
          most: PAGE + 1,
          callers: CALLERS,
          ms,
        }) as Promise<Figures>,
    },
  ];
  const comparisons: Comparison[] = [
    ...Object.values(PEERS).flatMap((peer): Comparison[] => [
      {
        name: `new page, ${peer}`,
        figure: 'pages_per_s',
        peer,
        better: 'greater',
        ...(peer === PEERS.fastify && { goal: 1 }),
      },
      { name: `cpu of a new page, ${peer}`, figure: 'cpu_ms_per_page', peer, better: 'smaller' },
      {
        name: `unchanged page, ${peer}`,
        figure: 'unchanged_per_s',
        peer,
        better: 'greater',
        ...(peer === PEERS.fastify && { goal: 4 }),
      },
    ]),
    {
      name: 'new page, the statement alone (floor)',
      figure: 'pages_per_s',
      peer: 'the statement alone, postgres@3.4.9',
      better: 'greater',
    },
  ];
  const { pairs, figures, ratios } = await interleave(sides, comparisons, options);
  const own = figures['rookery']!;
  return {
    bench: 'list',
    size: total,
    pairs,
    skipped: [],
    figures,
    ratios,
    goals: [
      {
        name: 'times that a page costs in the last third, of a first page',
        value: rounded(own['pages_per_s']! / own['far_behind_per_s']!),
        most: 1.15,
      },
    ],
    settings: {
      posts: total,
      ofOneOrganization: total / ORGS,
      page: PAGE,
      callers: CALLERS,
      connections: CONNECTIONS,
      openLoopPerSecond: half,
      log: 'warn',
    },
    leavesOut: [
      'the peers have the same statement and no ladder, no presenter, and no dates of series; they know every key by heart',
      'fastify answers no 304; express does, after it has read the page',
    ],
  };

  function rangesOf() {
    return Array.from({ length: PLACES }, (_, n) => [dayOf((n * DAYS * 0.8) / PLACES), dayOf(DAYS)]);
  }
}

function pageOf({ key }: Tenant, { from, cursor }: { from: Date; cursor?: string }): LoadRequest {
  const search = new URLSearchParams({
    startDate: from.toISOString(),
    endDate: dayOf(DAYS).toISOString(),
    limit: String(PAGE),
    ...(cursor !== undefined && { cursor }),
  });
  return { path: `/public/v1/posts?${search}`, headers: { authorization: key } };
}

/** Pages of the last third of all that the organization has, each as the one before it names it. */
async function pagesFarBehind({ sql }: TestDatabase, tenant: Tenant, posts: number): Promise<LoadRequest[]> {
  const rows = await sql<{ cursor: string }[]>`
    select to_char(publish_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '_' || seq as cursor
    from (
      select publish_date, seq, row_number() over (order by publish_date, seq) as place
      from posts
      where org_id = ${tenant.orgId}
    ) p
    where place > ${Math.floor((posts * 2) / 3)}
      and place % ${Math.max(1, Math.floor(posts / 3 / PLACES))} = 0
      and place < ${posts - PAGE}
    limit ${PLACES}`;
  return rows.map(({ cursor }) => pageOf(tenant, { from: FIRST, cursor }));
}

/** The same requests by somebody who has the pages already, where the server has said how to name them. */
const withTags = ({ url }: Target, requests: readonly LoadRequest[]): Promise<LoadRequest[]> =>
  Promise.all(
    requests.map(async ({ path, headers }) => {
      const answer = await fetch(url + path, { headers });
      await answer.arrayBuffer();
      const tag = answer.headers.get('etag');
      return { path, headers: { ...headers, ...(tag !== null && { 'if-none-match': tag }) } };
    }),
  );
