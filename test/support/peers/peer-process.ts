import { spawn } from 'node:child_process';
import { mkdir, open } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { peerEnv } from './peer-install.ts';

/** A real server that a test started: `env` holds what it says of itself beside its address. */
export interface Peer extends AsyncDisposable {
  url: string;
  env: Record<string, unknown>;
  stop(): Promise<void>;
}
/** How a peer is started, or why this machine cannot have it. */
export type Found = { start(): Promise<Peer> } | { missing: string };

const LOGS = new URL('../../../.cache/peers/logs/', import.meta.url);
const READY_MS = 90_000;

/**
 * Starts a peer in a process group of its own; it is ready when it prints one line of JSON with its `url`, or when
 * `probe` answers one.
 */
export async function startProcess(
  name: string,
  command: string,
  args: string[],
  {
    cwd,
    env = {},
    probe,
  }: { cwd: string; env?: NodeJS.ProcessEnv; probe?: () => Promise<Record<string, unknown> & { url: string }> },
): Promise<Peer> {
  await mkdir(LOGS, { recursive: true });
  const log = await open(new URL(`${name}-${process.pid}.log`, LOGS), 'w');
  const child = spawn(command, args, {
    cwd,
    env: { ...peerEnv(), ...env },
    detached: true,
    stdio: ['pipe', 'pipe', log.fd],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let printed = '';
  let failed: string | undefined;
  child.stdout!.on('data', (data: Buffer) => (printed = (printed + data.toString()).slice(0, 100_000)));
  child.once('error', (error) => (failed = error.message));
  child.once('exit', (code) => (failed = `ended with ${code}`));

  const signal = (word: NodeJS.Signals) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, word); // the whole group
  };
  async function stop(): Promise<void> {
    child.stdin!.end();
    signal('SIGTERM');
    await Promise.race([exited, sleep(5_000, undefined, { ref: false })]);
    signal('SIGKILL');
    await exited;
    await log.close();
  }
  const said = () => {
    const line = printed.split('\n').find((one) => one.startsWith('{') && one.endsWith('}'));
    return line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown> & { url: string });
  };

  const until = new Date().getTime() + READY_MS;
  for (;;) {
    const ready = probe ? await probe().catch(() => undefined) : said();
    if (ready) {
      const { url, ...told } = ready;
      return { url, env: told, stop, [Symbol.asyncDispose]: stop };
    }
    if (failed !== undefined || new Date().getTime() > until) {
      await stop();
      throw new Error(`peer ${name} ${failed ?? 'was not ready in time'}: see .cache/peers/logs`);
    }
    await sleep(50);
  }
}

/** Whether somebody listens there. */
export const tcpAnswers = (port: number): Promise<true> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', reject);
  });
