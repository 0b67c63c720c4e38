import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChild } from '../kit/child.ts';
import { type Figures, spread } from '../kit/figures.ts';
import { CannotRun, type Options } from '../kit/options.ts';
import { cpuMs } from '../kit/processes.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

/** Polls a second that running jobs make together; the interval of one follows from their number. */
const POLLS_PER_SECOND = 300;
const LATE_MS = 1_000;
const MOST_MIB = 64;
const FEW = 100;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Running media jobs: how late they are asked about, what many of them cost while none is due, and how much memory a
 * large result takes.
 */
export async function jobs(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  const { quick, say } = options;
  await using world = await openWorld(options);
  await using begun = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rookery-bench-jobs-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  const files = join(folder, 'files');
  await mkdir(files);
  const many = options.size ?? (quick ? 2_000 : 10_000);
  const mib = quick ? 128 : 500;
  const windowMs = (many / POLLS_PER_SECOND) * 1_000;
  const database = await world.database();
  const start = (name: string, settings: object) =>
    begun.use(
      startChild(name, ['--expose-gc', path(`./processes/${name}.ts`), JSON.stringify(settings)], {
        logFile: join(folder, `${name}.log`),
      }),
    );
  const maker = start('jobs-maker', {});
  const url = (await maker.ask({ do: 'address' })) as string;
  const settings = { databaseUrl: database.url, folder: files, url, everyMs: windowMs / 4 };
  const host = start('jobs-host', settings);

  await host.ask({ do: 'seed', jobs: FEW, inMs: 1_000, withinMs: 500 }); // to warm up
  await host.ask({ do: 'start' });
  await sleep(3_000);
  const idle = async (rows: number): Promise<number> => {
    await host.ask({ do: 'seed', jobs: rows, inMs: 3_600_000, withinMs: 1_000 });
    const ms = quick ? 4_000 : 20_000;
    const before = cpuMs([host.pid]) + world.postgresCpuMs();
    await sleep(ms);
    return (cpuMs([host.pid]) + world.postgresCpuMs() - before) / (ms / 1_000);
  };
  const [idleFew, idleMany] = [await idle(FEW), await idle(many)];
  say(`idle: ${idleFew.toFixed(1)} ms a second with ${FEW} jobs, ${idleMany.toFixed(1)} with ${many}`);

  await maker.ask({ do: 'reset' });
  const due = (await host.ask({ do: 'seed', jobs: many, inMs: 2_000, withinMs: windowMs })) as Record<string, number>;
  const before = cpuMs([host.pid]) + world.postgresCpuMs();
  await sleep(windowMs + 5_000);
  const cpu = cpuMs([host.pid]) + world.postgresCpuMs() - before;
  const asked = (await maker.ask({ do: 'asked' })) as Record<string, number>;
  await host.ask({ do: 'stop' });
  const late = Object.entries(due).map(([job, at]) => (asked[job] ?? Infinity) - at);
  const { peakMib, ms } = (await host.ask({ do: 'copy', mib })) as Record<string, number>;
  const figures: Figures = {
    ...spread('late', late),
    cpu_ms_per_poll: cpu / many,
    idle_few_ms_per_s: idleFew,
    idle_many_ms_per_s: idleMany,
    copy_peak_mib: peakMib!,
    copy_mib_per_s: mib / (ms! / 1_000),
  };
  return {
    bench: 'jobs',
    size: many,
    pairs: 1,
    figures: { rookery: figures },
    ratios: {},
    goals: [
      { name: 'lateness of a poll, p99, ms', value: figures['late_p99_ms']!, most: LATE_MS },
      { name: 'idle cost of many jobs beside a hundred', value: idleMany / Math.max(idleFew, 1), most: 1.5 },
      { name: 'peak of memory of a copy beyond that of the idle process, MiB', value: peakMib!, most: MOST_MIB },
    ],
    settings: { pollsPerSecond: POLLS_PER_SECOND, resultMib: mib, idleWith: FEW },
    leavesOut: [],
    skipped: [],
  };
}
