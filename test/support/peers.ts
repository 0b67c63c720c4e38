import { describe, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdir, open, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { installPeer, peerEnv } from './peer-install.ts';

/** A real server that a test started: `env` holds what it says of itself beside its address. */
export interface Peer extends AsyncDisposable {
  url: string;
  env: Record<string, unknown>;
  stop(): Promise<void>;
}
/** How a peer is started, or why this machine cannot have it. */
export type Found = { start(): Promise<Peer> } | { missing: string };

const LOGS = new URL('../../.cache/peers/logs/', import.meta.url);
const READY_MS = 90_000;

const reasonOf = (error: unknown) => (error instanceof Error ? error.message.split('\n')[0]! : String(error)).slice(0, 300);

/** Tests of a real server. Without it they are skipped by name and counted; `PEERS_REQUIRED=1` makes that a failure. */
export async function describePeer(name: string, find: () => Promise<Found>, body: (found: { start(): Promise<Peer> }) => void): Promise<void> {
  const found = await find().catch((error: unknown): Found => ({ missing: reasonOf(error) }));
  if ('start' in found) return describe(`peer ${name}`, () => body(found));
  const why = `peer ${name} is missing: ${found.missing}`;
  if (process.env['PEERS_REQUIRED'] === '1') {
    describe(`peer ${name}`, () => {
      test('is there', () => {
        throw new Error(why);
      });
    });
    return;
  }
  process.stderr.write(`skipped: ${why}\n`);
  describe.skip(`peer ${name}`, () => body({ start: () => Promise.reject(new Error(why)) }));
}

/** Installs `test/peers/<name>` when that has not been done, and starts its `main.mjs`. */
export async function npmPeer(name: string): Promise<Found> {
  const folder = await installPeer(name);
  const node = await readFile(`${folder}/node_modules/.node`, 'utf8');
  return { start: () => startProcess(name, node, [`${folder}/main.mjs`], { cwd: folder }) };
}

/** Starts a peer in a process group of its own; it is ready when it prints one line of JSON with its `url`, or when `probe` answers one. */
export async function startProcess(
  name: string,
  command: string,
  args: string[],
  { cwd, probe }: { cwd: string; probe?: () => Promise<Record<string, unknown> & { url: string }> },
): Promise<Peer> {
  await mkdir(LOGS, { recursive: true });
  const log = await open(new URL(`${name}-${process.pid}.log`, LOGS), 'w');
  const child = spawn(command, args, { cwd, env: peerEnv(), detached: true, stdio: ['pipe', 'pipe', log.fd] });
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
      const { url, ...env } = ready;
      return { url, env, stop, [Symbol.asyncDispose]: stop };
    }
    if (failed !== undefined || new Date().getTime() > until) {
      await stop();
      throw new Error(`peer ${name} ${failed ?? 'was not ready in time'}: see .cache/peers/logs`);
    }
    await sleep(50);
  }
}
