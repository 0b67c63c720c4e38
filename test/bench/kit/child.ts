import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A process of a benchmark that answers one line of JSON for each line of JSON. Disposing it ends it by its id. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** Rejects with what the process says went wrong, or when it ends. */
  ask(message: Readonly<Record<string, unknown>>): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- each benchmark knows its own processes
}

/** Arguments of a Node that writes a profile at a good end. */
export const profiling = (folder: string | undefined): string[] =>
  folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Starts a script; what it says beside its answers goes to `logFile`. `profile`: the folder that its CPU profile goes to
 * when it ends.
 */
export function startChild(
  name: string,
  args: readonly string[],
  { logFile, profile, cwd }: { logFile: string; profile?: string | undefined; cwd?: string },
): Child {
  const log = openSync(logFile, 'a');
  const child: ChildProcess = spawn(process.execPath, [...profiling(profile), ...args], {
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, NODE_ENV: 'production', NODE_NO_WARNINGS: '1' },
    ...(cwd !== undefined && { cwd }),
  });
  const pending = new Map<number, Pending>();
  let asked = 0;
  let gone: Error | undefined;
  const exited = new Promise<void>((done) =>
    child.once('exit', (code, signal) => {
      gone = new Error(`${name} ended (${signal ?? code}): see ${logFile}`);
      for (const one of pending.values()) one.reject(gone);
      pending.clear();
      done();
    }),
  );
  createInterface({ input: child.stdout! }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    const { id, value, error } = JSON.parse(line) as { id: number; value?: unknown; error?: string };
    const one = pending.get(id);
    pending.delete(id);
    if (error === undefined) one?.resolve(value);
    else one?.reject(new Error(`${name}: ${error}`));
  });
  return {
    pid: child.pid!,
    ask: (message) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(gone);
        const id = ++asked;
        pending.set(id, { resolve, reject });
        child.stdin!.write(`${JSON.stringify({ id, ...message })}\n`);
      }),
    async [Symbol.asyncDispose]() {
      if (profile !== undefined) child.stdin!.end();
      else if (!gone) child.kill('SIGKILL');
      await exited;
    },
  };
}
