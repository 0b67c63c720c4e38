import { readFile, writeFile } from 'node:fs/promises';

const at = async (what: string): Promise<number> => {
  const status = await readFile('/proc/self/status', 'utf8');
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) / 1_024;
};

/** Of this process before it did anything. */
let idle: number | undefined;

/**
 * What `work` does to this process: its time, and by how many MiB its memory was ever greater than before the first of
 * it. Linux only.
 */
export async function measured(work: () => Promise<void>): Promise<{ ms: number; cpuMs: number; peakMib: number }> {
  globalThis.gc?.();
  await writeFile('/proc/self/clear_refs', '5'); // the peak is counted from here
  idle ??= await at('VmRSS');
  const [cpu, begun] = [process.cpuUsage(), performance.now()];
  await work();
  const ms = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1_000, peakMib: (await at('VmHWM')) - idle };
}
