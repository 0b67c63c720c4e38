import { spawn } from 'node:child_process';

export interface Ran {
  name: string;
  status: number;
  output: string;
  seconds: number;
}
export interface RunOptions {
  live?: boolean;
  keeps?: boolean;
  env?: Record<string, string>;
}

/** Runs a command to its end and keeps what it said; `live` shows it as it comes, and keeps its errors only if told so. */
export function run(
  name: string,
  command: readonly string[],
  { live = false, keeps = !live, env = {} }: RunOptions = {},
): Promise<Ran> {
  const started = performance.now();
  const child = spawn(command[0]!, command.slice(1), {
    stdio: live ? ['inherit', 'inherit', keeps ? 'pipe' : 'inherit'] : ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => {
    output += chunk;
    if (live) process.stderr.write(chunk);
  });
  return new Promise((done) =>
    child
      .on('error', (error) => done({ name, status: 1, output: error.message, seconds: 0 }))
      .on('close', (status) =>
        done({ name, status: status ?? 1, output, seconds: (performance.now() - started) / 1000 }),
      ),
  );
}
