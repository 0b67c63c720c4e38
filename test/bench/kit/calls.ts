import { type Figures, percentile } from './figures.ts';

/** Makes calls with so many callers for so long; the sum of all answers keeps the work from being left out. */
async function callers(
  count: number,
  ms: number,
  call: (caller: number) => Promise<unknown>,
): Promise<{ perSecond: number; p50Ms: number; p99Ms: number; cpuMsPerCall: number }> {
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  const end = started + ms;
  await Promise.all(
    Array.from({ length: count }, async (_, caller) => {
      for (let now = performance.now(); now < end;) {
        await call(caller);
        const after = performance.now();
        latencies.push(after - now);
        now = after;
      }
    }),
  );
  const took = performance.now() - started;
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  return {
    perSecond: (latencies.length * 1_000) / took,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    cpuMsPerCall: (used.user + used.system) / 1_000 / latencies.length,
  };
}

export interface Ways {
  empty(caller: number): Promise<unknown>;
  read?(caller: number): Promise<unknown>;
  /** All callers call one method of one actor. */
  batched?(caller: number): Promise<unknown>;
}
const LONE = 1;
const MANY = [32, 64] as const;
const CROWD = 1_000;

/** The calls of this benchmark, one kind after the other. */
export async function allCalls({ empty, read, batched }: Ways, ms: number): Promise<Figures> {
  for (let n = 0; n < 200; n++) await empty(0);
  const alone = await callers(LONE, ms, empty);
  const figures: Record<string, number> = {
    lone_p50_ms: alone.p50Ms,
    lone_p99_ms: alone.p99Ms,
    lone_per_s: alone.perSecond,
  };
  for (const count of MANY) {
    const { perSecond, p50Ms, p99Ms, cpuMsPerCall } = await callers(count, ms, empty);
    Object.assign(figures, {
      [`c${count}_per_s`]: perSecond,
      [`c${count}_p50_ms`]: p50Ms,
      [`c${count}_p99_ms`]: p99Ms,
      [`c${count}_cpu_ms_per_call`]: cpuMsPerCall,
    });
  }
  if (read) figures['read_per_s'] = (await callers(MANY[0], ms, read)).perSecond;
  if (batched) figures['batched_per_s'] = (await callers(CROWD, ms, batched)).perSecond;
  return figures;
}
