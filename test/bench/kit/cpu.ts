import type { Figures } from './figures.ts';
import { cpuMs } from './processes.ts';
import type { World } from './world.ts';

/** The processes that one side uses, beside the Postgres that all share. */
export interface Used {
  world: Pick<World, 'postgresCpuMs'>;
  pids: readonly number[];
  dapr?: readonly number[];
  redis?: number | undefined;
}

/**
 * Starts to measure processor time; the answer tells it for each of `ops` operations since then, by kind of process and
 * in all.
 */
export function startCpu({ world, pids, dapr = [], redis }: Used): (ops: number) => Figures {
  const read = (): Record<string, number> => ({
    cpu_ms_per_op: cpuMs(pids),
    ...(dapr.length > 0 && { dapr_cpu_ms_per_op: cpuMs(dapr) }),
    ...(redis !== undefined && { redis_cpu_ms_per_op: cpuMs([redis]) }),
    postgres_cpu_ms_per_op: world.postgresCpuMs(),
  });
  const before = read();
  return (ops) => {
    const used = Object.entries(read()).map(([name, ms]) => [name, (ms - before[name]!) / ops] as const);
    return { ...Object.fromEntries(used), all_cpu_ms_per_op: used.reduce((sum, [, ms]) => sum + ms, 0) };
  };
}
