import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figures, middle, spread } from './kit/figures.ts';
import { createPost, openLoad } from './kit/load.ts';
import { CannotRun, type Options } from './kit/options.ts';
import type { Report } from './kit/report.ts';
import { announce, seedPosts, seedTenants } from './kit/seed.ts';
import { openWorld } from './kit/world.ts';

const HOSTS = [1, 2, 4] as const;
const ORGS = 100;
const PER_CHANNEL = 10;
const CALLERS = 32;
const DAY_MS = 86_400_000;
const SWEEP_MS = 10_000; // after it the product has registered what was put into its tables, on all hosts
const GIVE_UP_MS = 180_000;

/** The same wave and the same creates with one, two and four hosts of actors. */
export async function replicas(options: Options): Promise<Report> {
  const { engine, quick, pairs, say } = options;
  if (engine === 'embedded') throw new CannotRun('the embedded engine has one host');
  const size = options.size ?? (quick ? 500 : 10_000);
  const runs: Figures[] = [];
  for (const hosts of HOSTS) {
    const each: Figures[] = [];
    for (let n = 0; n < pairs; n++) each.push(await measuredWith(hosts, size, options));
    runs.push(middle(each));
    say(`${hosts} hosts: ${JSON.stringify(runs.at(-1))}`);
  }
  const of = (name: string, n: number) => runs[n]![name]!;
  const isEnough = (hosts: number) => cpus().length >= 2 * hosts + 2;
  const NAMES = ['drain_per_s', 'creates_per_s'];
  return {
    bench: 'replicas',
    size,
    pairs,
    skipped: HOSTS.filter((hosts) => hosts > 1 && !isEnough(hosts)).map(
      (hosts) => `efficiency of ${hosts} hosts (it needs ${2 * hosts + 2} cores)`,
    ),
    figures: Object.fromEntries(HOSTS.map((hosts, n) => [`${hosts} ${hosts === 1 ? 'host' : 'hosts'}`, runs[n]!])),
    ratios: {},
    goals: NAMES.flatMap((name) => [
      ...HOSTS.flatMap((hosts, n) =>
        hosts > 1 && isEnough(hosts)
          ? [{ name: `${name}, efficiency of ${hosts} hosts`, value: of(name, n) / (hosts * of(name, 0)), least: 0.7 }]
          : [],
      ),
      { name: `${name}, four hosts beside one`, value: of(name, 2) / of(name, 0), least: 0.7 },
    ]),
    settings: { hosts: HOSTS, orgs: ORGS, cores: cpus().length },
    leavesOut: ['webhooks, which `webhooks` measures with one host'],
  };
}

async function measuredWith(hosts: number, size: number, options: Options): Promise<Figures> {
  await using world = await openWorld({ ...options, say: () => {} });
  const provider = await world.provider();
  const database = await world.database();
  const { sql } = database;
  const channels = Math.max(ORGS, Math.min(1_000, size / PER_CHANNEL));
  const tenants = await seedTenants(sql, { orgs: ORGS, channels });
  const product = await world.product(database, { hosts, env: { PROVIDER_CALLS_IN_FLIGHT: '2048' } });

  await using load = openLoad(product.url, CALLERS);
  const all = tenants.flatMap(({ key, channels: ids }) => ids.map((channelId) => ({ key, channelId })));
  const create = (n: number) => createPost(load, { ...all[n % all.length]!, due: new Date(Date.now() + 40 * DAY_MS) });
  await load.closed(1_000, create); // to warm up
  const createMs = options.quick ? 2_000 : 5_000;
  const created = await load.closed(createMs, create);

  const drained = async (): Promise<Figures> => {
    await sql`truncate posts, outbox cascade`;
    await provider.reset(0);
    const due = new Date(Date.now() + SWEEP_MS + 3_000);
    await announce(sql, await seedPosts(sql, tenants, size, () => due));
    await sleep(Math.max(0, due.getTime() - Date.now()));
    const end = performance.now() + GIVE_UP_MS;
    for (;;) {
      const [row] = await sql<{ left: number; ms: number }[]>`
        select count(*) filter (where state <> 'PUBLISHED')::int as left,
          (extract(epoch from max(published_at) - ${due}::timestamptz) * 1000)::float8 as ms
        from posts`;
      if (row!.left === 0) {
        const { at, doubled } = await provider.arrivals();
        const late = at.map((ms) => ms - due.getTime());
        return { drain_per_s: (size * 1_000) / row!.ms, ...spread('late', late), doubled };
      }
      if (performance.now() > end)
        throw new Error(`${row!.left} posts are left with ${hosts} hosts\n${product.lastWords()}`);
      await sleep(100);
    }
  };
  await drained(); // to warm up
  return { creates_per_s: (created * 1_000) / createMs, ...(await drained()) };
}
