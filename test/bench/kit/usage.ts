import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Processor time of this process so far, and its memory, without what it holds for nothing where that is asked for. */
export function usage({ isCollected = false }: { isCollected?: boolean } = {}): { cpuMs: number; rssMib: number } {
  const { user, system } = process.cpuUsage();
  if (isCollected) collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return { cpuMs: (user + system) / 1_000, rssMib: process.memoryUsage.rss() / 1_024 ** 2 };
}
