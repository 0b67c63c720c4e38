import { startCpu } from '../kit/cpu.ts';
import type { Figures } from '../kit/figures.ts';
import { openLoad } from '../kit/load.ts';
import type { Options } from '../kit/options.ts';
import { interleave } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { CONTENT, seedTenants } from '../kit/seed.ts';
import { openWorld } from '../kit/world.ts';

const CALLERS = 8;
const ENTRIES = 100;
const CREATE = 'create';
const DAY_MS = 86_400_000;

/** The same bodies of a hundred entries, judged by preflight and stored by create. */
export async function preflight(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { quick, say } = options;
  const orgs = options.size ?? (quick ? 4 : 16);
  const ms = quick ? 2_500 : 6_000;
  const database = await world.database();
  const tenants = await seedTenants(database.sql, { orgs, channels: orgs * ENTRIES });
  const product = await world.product(database);
  say(`the product serves at ${product.url}`);

  const bodyOf = (channels: readonly string[]) => ({
    type: 'schedule',
    date: new Date(Date.now() + 30 * DAY_MS).toISOString(),
    shortLink: false,
    tags: [],
    posts: channels.map((id) => ({ integration: { id }, value: [{ content: CONTENT, image: [] }], settings: {} })),
  });
  async function rate(path: string): Promise<Figures> {
    const { sql } = database;
    await sql`truncate posts, outbox cascade`;
    await sql`update channels set next_due_at = null, reminder_due_at = null, due_version = due_version + 1`;
    await sql`vacuum channels`;
    await using load = openLoad(product.url, CALLERS);
    const [cpu, begun] = [
      startCpu({ world, pids: product.apps, dapr: product.dapr, redis: product.redis }),
      performance.now(),
    ];
    const ended = await load.closed(ms, (n) => {
      const { key, channels } = tenants[n % tenants.length]!;
      return load.post(path, key, bodyOf(channels));
    });
    const took = performance.now() - begun;
    return { entries_per_s: (ENTRIES * ended * 1_000) / took, ...cpu(ENTRIES * ended) };
  }
  const { pairs, figures, ratios } = await interleave(
    [
      { name: 'rookery', run: () => rate('/public/v1/posts/preflight') },
      { name: CREATE, run: () => rate('/public/v1/posts') },
    ],
    [
      { name: `entries a second, ${CREATE}`, figure: 'entries_per_s', peer: CREATE, better: 'greater', goal: 1 },
      { name: `cpu, ${CREATE}`, figure: 'all_cpu_ms_per_op', peer: CREATE, better: 'smaller' },
    ],
    options,
  );
  return {
    bench: 'preflight',
    size: orgs,
    pairs,
    skipped: [],
    figures,
    ratios,
    goals: [],
    settings: { entries: ENTRIES, callers: CALLERS, orgs, due: 'in 30 days' },
    leavesOut: ['preflight stores nothing, and warns of more than create refuses'],
  };
}
