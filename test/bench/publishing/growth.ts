import { setTimeout as sleep } from 'node:timers/promises';
import { startCpu } from '../kit/cpu.ts';
import { type Figures, middle, rounded, spread } from '../kit/figures.ts';
import { createPost, openLoad } from '../kit/load.ts';
import type { Options } from '../kit/options.ts';
import { cpuMs } from '../kit/processes.ts';
import type { Report } from '../kit/report.ts';
import { announce, seedPosts, seedTenants } from '../kit/seed.ts';
import { openWorld } from '../kit/world.ts';

const ORGS = 100;
const CHANNELS = 1_000;
const CALLERS = 16;
const DAY_MS = 86_400_000;
const SWEEP_MS = 5_000; // after it the product has registered what was put into its tables
const GIVE_UP_MS = 120_000;
/** Of what grows: least squares over the logarithms may not be steeper. */
const MOST_SLOPE = 0.05;

/** The same work beside ever more posts that wait for a far date: what it costs then, and what waiting costs. */
export async function growth(options: Options): Promise<Report> {
  const { quick, say } = options;
  const most = options.size ?? (quick ? 10_000 : 1_000_000);
  const sizes = [most / 1_000, most / 100, most / 10, most].map((size) => Math.max(10, Math.round(size)));
  const runs: Figures[] = [];
  for (const size of sizes) {
    const times = Math.max(1, Math.min(3, options.pairs));
    const each: Figures[] = [];
    for (let n = 0; n < times; n++) each.push(await measuredWith(size, options));
    runs.push(middle(each));
    say(`${size} queued: ${JSON.stringify(runs.at(-1))}`);
  }
  const of = (name: string) => runs.map((run) => run[name]!);
  const slopes = ['create_cpu_ms', 'wave_cpu_ms', 'wave_late_p99_ms', 'idle_cpu_ms_per_s', 'start_ms'].map(
    (name) => [name, slopeOf(sizes, of(name))] as const,
  );
  const slope = Object.fromEntries(slopes);
  const [least, greatest] = [runs[0]!, runs.at(-1)!];
  return {
    bench: 'growth',
    size: most,
    pairs: Math.max(1, Math.min(3, options.pairs)),
    skipped: [],
    figures: Object.fromEntries(sizes.map((size, n) => [`${size} queued`, runs[n]!])),
    ratios: {},
    goals: [
      { name: 'slope of the processor time of a create', value: slope['create_cpu_ms']!, most: MOST_SLOPE },
      { name: 'slope of the processor time of a post that goes out', value: slope['wave_cpu_ms']!, most: MOST_SLOPE },
      { name: 'lateness, p99, beside that with the fewest', value: ratio('wave_late_p99_ms'), most: 1.1 },
      { name: 'idle, ms of processor time a second', value: greatest['idle_cpu_ms_per_s']!, most: 10 },
      { name: 'start beside that with the fewest', value: ratio('start_ms'), most: 1.1 },
    ],
    settings: { sizes, orgs: ORGS, channels: CHANNELS, slopes: slope, queued: 'due in 30 days' },
    leavesOut: [],
  };

  function ratio(name: string): number {
    return rounded(greatest[name]! / least[name]!);
  }
}

async function measuredWith(size: number, options: Options): Promise<Figures> {
  const { quick } = options;
  await using world = await openWorld({ ...options, say: () => {} });
  const provider = await world.provider();
  const database = await world.database();
  const { sql } = database;
  const tenants = await seedTenants(sql, { orgs: ORGS, channels: CHANNELS });
  for (let n = 0; n < size; n += 50_000)
    await seedPosts(sql, tenants, Math.min(50_000, size - n), (k) => new Date(Date.now() + 30 * DAY_MS + k * 1_000));
  await sql`vacuum (analyze) posts`;
  await sql`checkpoint`; // else the pages of what was seeded are written beside what is measured
  const begun = performance.now();
  const product = await world.product(database);
  const startMs = performance.now() - begun;
  const used = { world, pids: product.apps, dapr: product.dapr, redis: product.redis };

  await sleep(SWEEP_MS);
  const processes = [...product.apps, ...product.dapr];
  const restMs = quick ? 3_000 : 20_000;
  const before = cpuMs(processes) + world.postgresCpuMs();
  await sleep(restMs);
  const idleMs = (cpuMs(processes) + world.postgresCpuMs() - before) / (restMs / 1_000);

  await using load = openLoad(product.url, CALLERS);
  const channels = tenants.flatMap(({ key, channels: ids }) => ids.map((channelId) => ({ key, channelId })));
  const create = (n: number) =>
    createPost(load, { ...channels[n % channels.length]!, due: new Date(Date.now() + 40 * DAY_MS) });
  await load.closed(1_000, create); // to warm up
  const createCpu = startCpu(used);
  const createMs = quick ? 2_000 : 5_000;
  const created = await load.closed(createMs, create);
  const { all_cpu_ms_per_op: createCpuMs } = createCpu(created);

  const count = quick ? 200 : 1_000;
  await provider.reset(0);
  const due = new Date(Date.now() + SWEEP_MS + 3_000);
  const posts = await seedPosts(sql, tenants, count, () => due);
  await announce(sql, posts);
  await sleep(Math.max(0, due.getTime() - Date.now() - 50));
  const waveCpu = startCpu(used);
  const end = performance.now() + GIVE_UP_MS;
  while ((await provider.count()) < count) {
    if (performance.now() > end) throw new Error(`The wave did not end\n${product.lastWords()}`);
    await sleep(50);
  }
  await sleep(500); // results are written
  const { all_cpu_ms_per_op: waveCpuMs } = waveCpu(count);
  const { at } = await provider.arrivals();
  return {
    start_ms: startMs,
    idle_cpu_ms_per_s: idleMs,
    creates_per_s: (created * 1_000) / createMs,
    create_cpu_ms: createCpuMs!,
    wave_cpu_ms: waveCpuMs!,
    ...spread(
      'wave_late',
      at.map((ms) => ms - due.getTime()),
    ),
  };
}

/** Least squares of the logarithms: 0 is flat, 1 is linear. */
function slopeOf(sizes: readonly number[], costs: readonly number[]): number {
  const [xs, ys] = [sizes.map(Math.log), costs.map((cost) => Math.log(Math.max(cost, 1e-6)))];
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const [x, y] = [mean(xs), mean(ys)];
  const above = xs.reduce((sum, one, n) => sum + (one - x) * (ys[n]! - y), 0);
  return Number((above / xs.reduce((sum, one) => sum + (one - x) ** 2, 0)).toFixed(3));
}
