import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';

/** A process that held something: its id alone may meanwhile be another's, so its start goes with it. */
export interface ProcessMark {
  pid: number;
  startedAt: string;
}

/** When a living process was started, as the system tells it; undefined when there is none, or only its remains. */
export function processStart(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid < 1) return undefined;
  try {
    if (process.platform === 'linux') {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      return fields[0] === 'Z' ? undefined : fields[19]; // a zombie has ended and waits for its parent
    }
    if (process.platform === 'win32') return process.kill(pid, 0) ? 'running' : undefined;
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim() || undefined
    );
  } catch {
    return undefined;
  }
}

export const processMarkOf = (pid: number): ProcessMark => ({ pid, startedAt: processStart(pid) ?? 'unknown' });
export const isRunning = ({ pid, startedAt }: ProcessMark): boolean => processStart(pid) === startedAt;

/** The command line of a living process, arguments separated by spaces; empty when it cannot be read. */
export function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '';
  }
}

/** Thrown by `holdFile` when a living process holds the file. `holder` is what it wrote there. */
export class HeldError extends Error {
  override readonly name = 'HeldError';
  readonly holder: ProcessMark & Readonly<Record<string, unknown>>;

  constructor(file: string, holder: ProcessMark & Record<string, unknown>) {
    super(`${file} is held by process ${holder.pid}`);
    this.holder = holder;
  }
}

/** Reads what a holder wrote, whether or not it still runs; undefined without a readable file. */
export async function readHolder(file: string): Promise<(ProcessMark & Record<string, unknown>) | undefined> {
  try {
    const holder: unknown = JSON.parse(await readFile(file, 'utf8'));
    return holder && typeof holder === 'object' && 'pid' in holder && 'startedAt' in holder
      ? (holder as ProcessMark & Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Holds a file as the sign that this process runs here; what a dead process left is taken over. Throws `HeldError`. */
export async function holdFile(
  file: string,
  about: Record<string, unknown> = {},
): Promise<AsyncDisposable & { update(about: Record<string, unknown>): Promise<void> }> {
  const mine = { ...processMarkOf(process.pid), ...about };
  const draft = `${file}.${process.pid}`;
  for (;;) {
    await writeFile(draft, JSON.stringify(mine), { mode: 0o644 });
    const taken = await link(draft, file).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false;
        throw error;
      },
    );
    await rm(draft, { force: true });
    if (taken) break;
    const holder = await readHolder(file);
    if (holder && isRunning(holder)) throw new HeldError(file, holder);
    // Moving it away succeeds for one process only. Should it have been renewed in between, it goes back.
    await rename(file, draft).catch(() => undefined);
    const moved = await readHolder(draft);
    if (moved && isRunning(moved)) await link(draft, file).catch(() => undefined);
    await rm(draft, { force: true });
  }
  return {
    async update(more) {
      await writeFile(draft, JSON.stringify({ ...mine, ...more }), { mode: 0o644 });
      await rename(draft, file);
    },
    async [Symbol.asyncDispose]() {
      const holder = await readHolder(file);
      if (holder?.pid === process.pid) await rm(file, { force: true });
    },
  };
}
