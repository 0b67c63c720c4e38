import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newId } from '../../src/platform/kernel/index.ts';
import { bodyOfFact } from '../../src/delivery/webhooks/body.ts';
import { SIGNING_SECRET } from '../support/processes/service.ts';
import type { TestDatabase } from '../support/wire/database.ts';
import { type Counts, counted, idleRate } from './kit/counters.ts';
import { startCpu, type Used } from './kit/cpu.ts';
import { type Figures, spread } from './kit/figures.ts';
import { openLoop } from './kit/load.ts';
import type { Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import { type Report, skippedWithout } from './kit/report.ts';
import { CONTENT, seedTenants, type Tenant } from './kit/seed.ts';
import { openWorld, type Product } from './kit/world.ts';

const RECEIVER = fileURLToPath(new URL('./processes/receiver.ts', import.meta.url));
const ENDPOINTS = 20;
const SILENT = 2;
/** Of the steady load: organizations with endpoints each, and facts a second over all of them. */
const STEADY = { orgs: 100, endpoints: 5, seconds: 10 };
const PEER = { connections: 16, concurrency: 128 };
const GIVE_UP_MS = 240_000;
const BULLMQ = 'bullmq@6.7.0';
const WITH_SILENT = 'rookery, 10 % silent';

interface Receiver {
  url: string;
  ask(what: 'reset' | 'count' | 'arrivals'): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- as `Child.ask`
}
interface Run {
  database: TestDatabase;
  receiver: Receiver;
  product: Product;
  idle: Counts;
  restMs: number;
  used: Used;
}

/** Published posts that many webhooks are told of: at once, steadily, and while some receivers are silent. */
export async function webhooks(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { engine, quick, say } = options;
  const posts = options.size ?? (quick ? 50 : 500);
  const restMs = quick ? 1_100 : 2_000;
  const receiver = await receiverOf(world.script(RECEIVER, {}));
  const own = await world.database();
  const tenants = await seedTenants(own.sql, { orgs: STEADY.orgs, channels: STEADY.orgs });
  const product = await world.product(own, { env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' } });
  say(`the product serves at ${product.url}`);
  const used = { world, pids: product.apps, dapr: product.dapr, redis: product.redis };
  const run = { database: own, receiver, product, idle: await idleRate(own.sql, restMs), restMs, used };

  const others = await world.database();
  const [theirs] = await seedTenants(others.sql, { orgs: 1, channels: 1 });
  const skipped: string[] = [];
  const redis = await skippedWithout(skipped, 'bullmq', () => world.redis('always'));
  const common = { databaseUrl: others.url, signingKey: SIGNING_SECRET, ...PEER };
  const bullmq = redis && (await world.peer('webhooks-bullmq.mjs', { ...common, redisPort: redis.port }));
  await bullmq?.ask({ do: 'ready' });
  const othersIdle = await idleRate(others.sql, restMs);

  const perSecond = (engine === 'embedded' ? 1_000 : 500) / STEADY.endpoints / (quick ? 4 : 1);
  const sides: Side[] = [
    {
      name: 'rookery',
      run: async () => ({ ...(await burst(run, tenants[0]!, posts, 0)), ...(await steady(run, tenants, perSecond)) }),
    },
    { name: WITH_SILENT, run: () => burst(run, tenants[0]!, posts, SILENT) },
    ...(bullmq
      ? [
          {
            name: BULLMQ,
            run: async () => {
              await others.sql`delete from webhooks`;
              const endpoints = await seedWebhooks(others.sql, [theirs!], ENDPOINTS, receiver.url, 0);
              await receiver.ask('reset');
              const cpu = startCpu({ world, pids: [bullmq.pid], redis: redis.pid });
              const begun = Date.now();
              const deliveries = Array.from({ length: posts }, (_, n) => bodyFor(theirs!, n, begun)).flatMap((body) =>
                endpoints.map(({ webhookId, orgId, url }) => ({ id: newId(), orgId, webhookId, url, body })),
              );
              const { result, commits } = await counted(others.sql, othersIdle, restMs, async () => {
                const failures = (await bullmq.ask({ do: 'run', deliveries })) as string[];
                if (failures.length > 0) throw new Error(failures[0]);
                return cpu(deliveries.length);
              });
              return figuresOf(await receiver.ask('arrivals'), begun, { ...result, commits }, deliveries.length);
            },
          },
        ]
      : []),
  ];
  const comparisons: Comparison[] = [
    {
      name: `p99 of healthy endpoints, ${WITH_SILENT}`,
      of: WITH_SILENT,
      figure: 'healthy_p99_ms',
      peer: 'rookery',
      better: 'smaller',
      goal: 1 / 1.2,
    },
    ...(bullmq
      ? [
          {
            name: `deliveries a second, ${BULLMQ}`,
            figure: 'deliveries_per_s',
            peer: BULLMQ,
            better: 'greater' as const,
            ...(engine === 'embedded' && { goal: 2 }),
          },
          {
            name: `cpu, ${BULLMQ}`,
            figure: 'all_cpu_ms_per_op',
            peer: BULLMQ,
            better: 'smaller' as const,
            ...(engine === 'embedded' && { goal: 2 }),
          },
        ]
      : []),
  ];
  const { pairs, figures, ratios } = await interleave(sides, comparisons, options);
  const found = figures['rookery']!;
  return {
    bench: 'webhooks',
    size: posts,
    pairs,
    skipped,
    figures,
    ratios,
    goals: [
      {
        name: 'first attempt after the commit, p99 in ms',
        value: found['first_p99_ms']!,
        most: engine === 'embedded' ? 250 : 500,
      },
      { name: 'commits for a delivery', value: found['commits_per_op']!, most: 1 },
      { name: 'deliveries that came twice', value: found['doubled']!, most: 0 },
    ],
    settings: {
      posts,
      endpoints: ENDPOINTS,
      silent: SILENT,
      steady: { ...STEADY, factsPerSecond: perSecond },
      bullmq: PEER,
    },
    leavesOut: [
      'bullmq keeps no order per endpoint, and makes no deliveries of facts: its jobs are made before',
      'the outbound guard of the product judges each address',
    ],
  };
}

async function receiverOf(child: {
  ask(message: Readonly<Record<string, unknown>>): Promise<unknown>;
}): Promise<Receiver> {
  const { url } = (await child.ask({ do: 'listen' })) as { url: string };
  return { url, ask: (what) => child.ask({ do: what }) };
}

/** Webhooks of each organization, of which the first `silent` are never answered in time. */
async function seedWebhooks(
  sql: TestDatabase['sql'],
  tenants: readonly Tenant[],
  each: number,
  to: string,
  silent: number,
): Promise<{ webhookId: string; orgId: string; url: string }[]> {
  const rows = tenants.flatMap(({ orgId }) =>
    Array.from({ length: each }, (_, n) => ({
      webhookId: newId(),
      orgId,
      url: `${to}/${n < silent ? 'silent' : 'endpoint'}/${n}`,
    })),
  );
  await sql`
    insert into webhooks (id, org_id, name, url)
    select "webhookId", "orgId", 'bench', url
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t ("webhookId" uuid, "orgId" uuid, url text)`;
  return rows;
}

const factOf = ({ channels }: Tenant, n: number, at: number) => ({
  channelId: channels[0]!,
  providerId: 'sandbox',
  channelName: 'Channel',
  createdBy: null,
  rootPostId: null,
  groupId: `g${n}`,
  content: CONTENT,
  publishDate: new Date(at).toISOString(),
  url: `http://127.0.0.1/posts/${n}?at=${at}`,
});
const bodyFor = (tenant: Tenant, n: number, at: number): string =>
  bodyOfFact({
    id: String(n),
    orgId: tenant.orgId,
    topic: 'post.published',
    entityId: newId(),
    payload: factOf(tenant, n, at),
    at: new Date(at),
  });

/** Facts that are announced in one commit, as publishing announces them. */
const announceFacts = (sql: TestDatabase['sql'], facts: readonly { orgId: string; payload: object }[]) => sql`
  insert into outbox (org_id, topic, entity_id, payload)
  select "orgId", 'post.published', gen_random_uuid(), payload
  from json_to_recordset(${JSON.stringify(facts)}::text::json) as t ("orgId" uuid, payload jsonb)`;

/** Everything at once for the endpoints of one organization. */
async function burst(run: Run, tenant: Tenant, posts: number, silent: number): Promise<Figures> {
  const { database, receiver, idle, restMs, used, product } = run;
  const { sql } = database;
  await sql`delete from webhooks`;
  await seedWebhooks(sql, [tenant], ENDPOINTS, receiver.url, silent);
  await receiver.ask('reset');
  const wanted = posts * (ENDPOINTS - silent);
  const cpu = startCpu(used);
  const begun = Date.now();
  const facts = Array.from({ length: posts }, (_, n) => ({ orgId: tenant.orgId, payload: factOf(tenant, n, begun) }));
  const { result, commits } = await counted(sql, idle, restMs, async () => {
    await announceFacts(sql, facts);
    await arrived(receiver, wanted, product);
    return cpu(wanted);
  });
  return figuresOf(await receiver.ask('arrivals'), begun, { ...result, commits }, wanted);
}

/** Facts at a fixed rate over many organizations: how long after its commit each first attempt comes. */
async function steady(
  { database: { sql }, receiver, product }: Run,
  tenants: readonly Tenant[],
  perSecond: number,
): Promise<Figures> {
  await sql`delete from webhooks`;
  await seedWebhooks(sql, tenants, STEADY.endpoints, receiver.url, 0);
  await receiver.ask('reset');
  let told = 0;
  await openLoop('announce', { perSecond, ms: STEADY.seconds * 1_000 }, async (n) => {
    const tenant = tenants[n % tenants.length]!;
    await announceFacts(sql, [{ orgId: tenant.orgId, payload: factOf(tenant, n, Date.now()) }]);
    told += STEADY.endpoints;
  });
  await arrived(receiver, told, product);
  return spread('first', (await receiver.ask('arrivals')).delays as number[]);
}

async function arrived(receiver: Receiver, wanted: number, { lastWords }: Pick<Product, 'lastWords'>): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  while ((await receiver.ask('count')) < wanted) {
    if (performance.now() > end)
      throw new Error(`${await receiver.ask('count')} of ${wanted} deliveries came\n${lastWords()}`);
    await sleep(50);
  }
  await sleep(300); // results are written
}

interface Arrived {
  last: number;
  delays: number[];
  doubled: number;
}
const figuresOf = (
  { last, delays, doubled }: Arrived,
  begun: number,
  { commits, ...cpu }: Figures,
  count: number,
): Figures => ({
  deliveries_per_s: (count * 1_000) / (last - begun),
  ...spread('healthy', delays),
  ...cpu,
  commits_per_op: commits! / count,
  doubled,
});
