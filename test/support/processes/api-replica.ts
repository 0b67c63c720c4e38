import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** An API of the product without actors, in a process of its own that a test may kill. */
export interface ApiReplica extends AsyncDisposable {
  readonly address: string;
  /** `kill -9`; ends when it is gone. */
  kill(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('scripts/stream-process.ts', import.meta.url));

/** Starts one of several on a database and a Redis. */
export async function startApiReplica(settings: { databaseUrl: string; redisUrl: string }): Promise<ApiReplica> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, JSON.stringify(settings)], {
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  const said = once(createInterface(child.stdout!), 'line') as Promise<[string]>;
  const ended = gone.then(([code]) => Promise.reject(new Error(`The replica ended with ${String(code)}`)));
  ended.catch(() => undefined); // later it is no failure
  const [address] = await Promise.race([said, ended]);
  return { address, kill, [Symbol.asyncDispose]: kill };
}
