import { spawn } from 'node:child_process';
import type { Environment } from './version.ts';

export interface RunOptions {
  cwd?: string;
  environment: Environment;
  signal?: AbortSignal | undefined;
}

/** Runs a program to its end and answers what it printed; rejects with the last lines of its complaint. */
export function run(
  command: string,
  args: readonly string[],
  { cwd, environment, signal }: RunOptions,
): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(signal && { signal }),
    });
    let out = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (complaint = (complaint + text).slice(-4_000)));
    child.on('error', fail);
    child.on('close', (code) => {
      if (code === 0) done(out);
      else
        fail(
          Object.assign(
            new Error(
              `${command} ${args[0] ?? ''} ended with ${code}: ${complaint.trim().split('\n').slice(-3).join(' | ') || 'no message'}`,
            ),
            {
              out,
            },
          ),
        );
    });
  });
}
