import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { placed } from '../support/processes/dapr-engine.ts';
import { startDapr } from '../support/processes/dapr-harness.ts';
import type { Child } from './kit/child.ts';
import { type Figures, spread } from './kit/figures.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import { cpuMs } from './kit/processes.ts';
import { type Report, skippedWithout } from './kit/report.ts';
import { openWorld, type World } from './kit/world.ts';

const processOf = (name: string) => fileURLToPath(new URL(`./processes/${name}.ts`, import.meta.url));
const HOST = processOf('reminders-host');
const BARE_APP = processOf('reminders-bare');
const CALLERS = 32;
const PEER = { connections: 16, concurrency: 256, pollMs: 100 };
/** After the last one is registered, until they are due. */
const LEAD_MS = 2_000;
/** What registering one costs at most, for the moment at which all are due. */
const MOST_EACH_MS = 4;
const GIVE_UP_MS = 120_000;
const FAR = 'rookery, beside many far ones';
const BARE = 'bare client and handler';
const PEERS = { 'bullmq@6.7.0': 'bullmq', 'graphile-worker@0.18.0': 'graphile', 'pg-boss@12.38.0': 'pg-boss' };

/** Durable reminders that do nothing, all due at one moment: how fast they are registered, and how late they fire. */
export async function reminders(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  await using begun = new AsyncDisposableStack();
  const { engine, quick } = options;
  const count = options.size ?? (quick ? 500 : 10_000);
  const far = quick ? 10_000 : 1_000_000;
  const skipped: string[] = [];
  const side = (name: string, child: Child, pids: readonly number[] = []): Side => ({
    name,
    run: () => measured(child, count, [child.pid, ...pids]),
  });

  const sides: Side[] = [];
  if (engine === 'embedded') {
    const { url: databaseUrl } = await world.database();
    const host = world.script(HOST, { databaseUrl });
    await host.ask({ do: 'start' });
    sides.push(side('rookery', host));
    const beside = await world.database();
    await beside.sql`
      insert into actor_reminders (type, id, name, due_at, version)
      select 'Reminded', 'far-' || n, 'ring', now() + interval '40 hours', gen_random_uuid()
      from generate_series(1, ${far}::int) n`;
    await beside.sql`vacuum (analyze) actor_reminders`;
    const crowded = world.script(HOST, { databaseUrl: beside.url });
    await crowded.ask({ do: 'start' });
    sides.push(side(FAR, crowded), ...(await peers(world, skipped, side)));
  } else {
    const { url: databaseUrl } = await world.database();
    const redis = await world
      .redis()
      .catch((error: unknown) => (error instanceof CannotRun ? undefined : Promise.reject(error)));
    const cluster = begun.use(await startDapr({ databaseUrl, redisUrl: redis?.url }));
    const [ports, barePorts] = [await cluster.reserve(), await cluster.reserve()];
    const dapr = {
      httpPort: ports.http,
      grpcPort: ports.grpc,
      appPort: ports.app,
      placementHealthUrl: cluster.placementHealthUrl,
    };
    const host = world.script(HOST, { databaseUrl, dapr });
    const bare = world.script(BARE_APP, { grpcPort: barePorts.grpc, appPort: barePorts.app });
    const [sidecar, bareSidecar] = [cluster.sidecar(ports), cluster.sidecar(barePorts)];
    await Promise.all([host.ask({ do: 'start' }), bare.ask({ do: 'start' })]);
    await Promise.all([placed(sidecar), placed(bareSidecar)]);
    sides.push(side('rookery', host, [sidecar.process.pid]), side(BARE, bare, [bareSidecar.process.pid]));
  }
  const has = (name: string) => sides.some((one) => one.name === name);
  const against = (peer: string, registered?: number, fires?: number): Comparison[] =>
    has(peer)
      ? [
          {
            name: `registered a second, ${peer}`,
            figure: 'registered_per_s',
            peer,
            better: 'greater',
            ...(registered && { goal: registered }),
          },
          {
            name: `fired a second, ${peer}`,
            figure: 'fired_per_s',
            peer,
            better: 'greater',
            ...(fires && { goal: fires }),
          },
        ]
      : [];
  const comparisons: Comparison[] = [
    ...against('graphile-worker@0.18.0', 4, 0.8),
    ...against('pg-boss@12.38.0', 3),
    ...against('bullmq@6.7.0', undefined, 1.5),
    ...against(BARE, 0.85, 0.85),
    ...(has(FAR)
      ? [
          {
            name: `lateness, p99, ${FAR}`,
            of: FAR,
            figure: 'late_p99_ms',
            peer: 'rookery',
            better: 'smaller' as const,
            goal: 1 / 1.1,
          },
        ]
      : []),
  ];
  const { pairs, figures, ratios } = await interleave(sides, comparisons, options);
  return {
    bench: 'reminders',
    size: count,
    pairs,
    skipped,
    figures,
    ratios,
    goals: [{ name: 'early', value: figures['rookery']!['early']!, most: 0 }],
    settings: {
      callers: CALLERS,
      ...(engine === 'embedded'
        ? { far, peers: PEER, redis: 'appendonly yes, appendfsync always' }
        : { dapr: '1.18.3, flags of dapr/processes.ts; a sidecar for each side, one scheduler' }),
    },
    leavesOut: ['the product keeps one turn of an actor at a time; the others have no actors'],
  };
}

async function peers(
  world: World,
  skipped: string[],
  side: (name: string, child: Child, pids?: readonly number[]) => Side,
): Promise<Side[]> {
  const redis = await skippedWithout(skipped, 'bullmq', () => world.redis('always'));
  const sides: Side[] = [];
  for (const [name, script] of Object.entries(PEERS)) {
    if (script === 'bullmq' && !redis) continue;
    const { url: databaseUrl } = await world.database();
    const child = await world.peer(`reminders-${script}.mjs`, { ...PEER, databaseUrl, redisPort: redis?.port });
    await child.ask({ do: 'start' });
    sides.push(side(name, child, script === 'bullmq' ? [redis!.pid] : []));
  }
  return sides;
}

async function measured(child: Child, count: number, pids: readonly number[]): Promise<Figures> {
  const due = Date.now() + LEAD_MS + count * MOST_EACH_MS;
  const before = cpuMs(pids);
  const registerMs = (await child.ask({ do: 'register', count, due, callers: CALLERS })) as number;
  await sleep(Math.max(0, due - Date.now()));
  const end = performance.now() + GIVE_UP_MS;
  while (((await child.ask({ do: 'count' })) as number) < count) {
    if (performance.now() > end) throw new Error(`${await child.ask({ do: 'count' })} of ${count} reminders fired`);
    await sleep(50);
  }
  const late = ((await child.ask({ do: 'fired' })) as number[]).map((at) => at - due);
  return {
    registered_per_s: (count * 1_000) / registerMs,
    fired_per_s: (count * 1_000) / Math.max(1, ...late),
    ...spread('late', late),
    early: late.filter((ms) => ms < 0).length,
    cpu_ms_per_op: (cpuMs(pids) - before) / count,
  };
}
