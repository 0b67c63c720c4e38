import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Figures, judge, sumOf } from './coverage.ts';
import { buildTemplate } from './database.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a simulation in a process of its own, whose time and randomness are virtual. */
export async function simulateApart(
  args: readonly string[],
  cwd = ROOT,
  env: Record<string, string> = {},
  signal?: AbortSignal,
) {
  const given = { cwd, env: { ...process.env, ...env }, signal };
  const child = spawn(process.execPath, ['test/sim/main.ts', ...args], given);
  child.on('error', () => {}); // it was ended by the signal
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (output += String(text)));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, output };
}

interface Shared extends Record<'from' | 'seeds' | 'replays' | 'replayed', number> {
  /** What this process was told. */
  args: readonly string[];
  say(line: string): void;
}

/** Deals seeds to so many processes, each with a database of its own, until one of them fails. Answers the exit code. */
export async function simulateInJobs(jobs: number, { from, seeds, replays, replayed, args, say }: Shared) {
  await using template = await buildTemplate(`rookery_sim_${process.pid}`);
  const failed = new AbortController();
  const ran = await Promise.all(
    Array.from({ length: Math.min(jobs, seeds) }, async (_, n) => {
      const own = { jobs: 1, seed: from + n, seeds: seeds - n, every: jobs, replay: replays, replayed: replayed - n };
      const given = Object.entries(own).map(([name, count]) => `--${name}=${count}`);
      const env = { SIM_TEMPLATE: template.name };
      const { code, output } = await simulateApart([...args, ...given], ROOT, env, failed.signal);
      const lines = output.trim().split('\n');
      if (code === 0) {
        lines.slice(0, -1).forEach(say);
        return JSON.parse(lines.at(-1)!) as Figures;
      }
      if (!failed.signal.aborted) lines.forEach(say);
      failed.abort();
      return undefined;
    }),
  );
  const all = ran.filter((figures) => figures !== undefined);
  return all.length < ran.length ? 1 : judge(all.reduce(together), say);
}

function together({ seen, ...one }: Figures, { seen: also, ...other }: Figures): Figures {
  const virtualDays = Math.round((one.virtualDays + other.virtualDays) * 10) / 10;
  const seconds = Math.max(one.seconds, other.seconds);
  return { ...sumOf(one, other), virtualDays, seconds, seen: sumOf(seen, also) };
}
