import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import type { Database } from '../../../src/platform/db/index.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';
import type { Figures } from '../kit/figures.ts';
import { raceFor } from '../kit/grants.ts';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import { cpuMs } from '../kit/processes.ts';
import type { Report } from '../kit/report.ts';
import { CONTENT, seedTenants, type Tenant } from '../kit/seed.ts';
import { openWorld } from '../kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const CALLERS = [32, 1_000] as const;
/** A transaction for each request keeps more connections busy than statements that are shared. */
const PEER_CONNECTIONS = 16;
const ORGS = 100;
const WAYS = { cte: 'conditional CTE, postgres@3.4.9', forUpdate: 'SELECT FOR UPDATE, postgres@3.4.9' } as const;
type Way = keyof typeof WAYS;

interface Race {
  granted: number;
  refused: number;
  figures: Figures;
}

/**
 * One org, and half as many places as requests: at the door of the actor, and over HTTP. Each race is for an org of its
 * own.
 */
export async function hotOrg(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { quick, engine } = options;
  const requests = options.size ?? (quick ? 1_000 : 4_000);
  const most = requests / 2;

  /** A database with orgs that have so much room, taken one after the other. */
  async function orgs() {
    const database = await world.database();
    const tenants = await seedTenants(database.sql, { orgs: ORGS, channels: ORGS });
    let next = 0;
    return { database, tenants, next: () => tenants[next++ % ORGS]! };
  }
  /** Of the processes that serve, and of Postgres. */
  const cpu = (pids: readonly number[]) => cpuMs(pids) + world.postgresCpuMs();
  const raced = async (
    sql: Database,
    { orgId }: Tenant,
    pids: readonly number[],
    race: () => Promise<Race>,
  ): Promise<Figures> => {
    const before = cpu(pids);
    const { granted, refused, figures } = await race();
    const spent = cpu(pids) - before;
    const [row] = await sql<{ rows: number }[]>`select count(*)::int as rows from posts where org_id = ${orgId}`;
    if (granted !== most || refused !== requests - most || row!.rows !== most)
      throw new Error(`Not exact: ${JSON.stringify({ granted, refused, ...row })}`);
    return { ...figures, cpu_ms_per_grant: spent / granted };
  };
  const named = (callers: number, figures: Figures) =>
    Object.fromEntries(Object.entries(figures).map(([name, value]) => [`c${callers}_${name}`, value]));

  const product = await orgs();
  await limited(product, most);
  const door = world.script(path('./processes/hot-org-host.ts'), { databaseUrl: product.database.url });
  const served = await orgs();
  await limited(served, most);
  const { url, apps } = await world.product(served.database, { env: WITH_BILLING });

  const peers = await Promise.all(
    (Object.keys(WAYS) as Way[]).map(async (way) => {
      const own = await orgs();
      const child = await world.peer('hot-org.mjs', {
        databaseUrl: own.database.url,
        connections: PEER_CONNECTIONS,
        way,
        grants: path('../kit/grants.ts'),
      });
      await child.ask({ do: 'prepare', most });
      const { url: address } = (await child.ask({ do: 'listen', tenants: own.tenants })) as { url: string };
      return { name: WAYS[way], own, child, url: address };
    }),
  );

  const atTheDoor = async (own: typeof product, child: typeof door): Promise<Figures> => {
    const figures: Record<string, number> = {};
    for (const callers of CALLERS) {
      const tenant = own.next();
      const race = () =>
        child.ask({
          do: 'race',
          orgId: tenant.orgId,
          channelId: tenant.channels[0],
          callers,
          requests,
        }) as Promise<Race>;
      Object.assign(figures, named(callers, await raced(own.database.sql, tenant, [child.pid], race)));
    }
    return figures;
  };
  const overHttp = async (own: typeof product, address: string, pids: readonly number[]): Promise<Figures> => {
    const tenant = own.next();
    const pool = new Pool(address, { connections: 256, pipelining: 1 });
    try {
      const figures = await raced(own.database.sql, tenant, pids, () =>
        raceFor(CALLERS[0], requests, () => created(pool, tenant)),
      );
      return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`http_${name}`, value]));
    } finally {
      await pool.destroy();
    }
  };
  const sides: Side[] = [
    {
      name: 'rookery',
      run: async () => ({ ...(await atTheDoor(product, door)), ...(await overHttp(served, url, apps)) }),
    },
    ...peers.map(({ name, own, child, url: address }) => ({
      name,
      run: async () => ({ ...(await atTheDoor(own, child)), ...(await overHttp(own, address, [child.pid])) }),
    })),
  ];
  const embedded = engine === 'embedded';
  const against = (peer: string, goals: { door: number; http: number }): Comparison[] => [
    ...CALLERS.flatMap((callers): Comparison[] => [
      {
        name: `grants, ${callers} callers, ${peer}`,
        figure: `c${callers}_grants_per_s`,
        peer,
        better: 'greater',
        ...(embedded && { goal: goals.door }),
      },
      {
        name: `p99, ${callers} callers, ${peer}`,
        figure: `c${callers}_p99_ms`,
        peer,
        better: 'smaller',
        ...(embedded && { goal: 10 }),
      },
      { name: `cpu, ${callers} callers, ${peer}`, figure: `c${callers}_cpu_ms_per_grant`, peer, better: 'smaller' },
    ]),
    {
      name: `grants over HTTP, ${peer}`,
      figure: 'http_grants_per_s',
      peer,
      better: 'greater',
      ...(embedded && { goal: goals.http }),
    },
    { name: `cpu over HTTP, ${peer}`, figure: 'http_cpu_ms_per_grant', peer, better: 'smaller' },
  ];
  const { pairs, figures, ratios } = await interleave(
    sides,
    [...against(WAYS.cte, { door: 8, http: 2 }), ...against(WAYS.forUpdate, { door: 25, http: 5 })],
    options,
  );
  return {
    bench: 'hot-org',
    size: requests,
    pairs,
    skipped: [],
    figures,
    ratios,
    goals: [],
    settings: {
      requests,
      places: most,
      callers: '32 and 1,000 at the door, 32 over HTTP',
      connections: { rookery: 8, peers: PEER_CONNECTIONS },
      exact: 'every race',
    },
    leavesOut: [
      'the peers have no ladder: no sessions, rate limit, permissions, idempotency',
      'the peers know the limit from its row; the product reckons it from plan, packs and overrides',
    ],
  };
}

/** Each org has posted in this month before, so that its counter is there, as the row of a peer's limit is. */
async function limited(
  { database: { sql, url }, tenants }: { database: TestDatabase; tenants: readonly Tenant[] },
  most: number,
): Promise<void> {
  await using product = await openPublishing({ url, engine: noEngine, env: WITH_BILLING });
  const { billing } = product;
  await Promise.all(
    tenants.map(async ({ orgId }) => {
      await subscribe(sql, orgId, { tier: 'PRO' });
      await override(sql, orgId, { posts_per_month: most });
      await billing.quota(orgId);
    }),
  );
}

async function created(pool: Pool, { key, channels }: Tenant): Promise<boolean> {
  const body = {
    type: 'draft',
    date: new Date().toISOString(),
    shortLink: false,
    tags: [],
    posts: [{ integration: { id: channels[0] }, value: [{ content: CONTENT, image: [] }], settings: {} }],
  };
  const answer = await pool.request({
    method: 'POST',
    path: '/public/v1/posts',
    headers: { authorization: key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 201 && answer.statusCode !== 402)
    throw new Error(`POST answered ${answer.statusCode} ${text.slice(0, 300)}`);
  return answer.statusCode === 201;
}
