import { describe, test } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A real server that a test started: `env` holds what it says of itself beside its address. */
export interface Peer extends AsyncDisposable { url: string; env: Record<string, unknown>; stop(): Promise<void> }
/** How a peer is started, or why this machine cannot have it. */
export type Found = { start(): Promise<Peer> } | { missing: string };

const run = promisify(execFile);
const PEERS = new URL('../peers/', import.meta.url);
const LOGS = new URL('../../.cache/peers/logs/', import.meta.url);
const INSTALL_MS = 15 * 60_000;
const READY_MS = 90_000;

/** Without the interpreter of this project in front: a peer is installed and run by the machine's own. */
const ownPath = () => (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.endsWith('node_modules/.bin')).join(delimiter);
export const peerEnv = (): NodeJS.ProcessEnv => {
  const { NODE_OPTIONS: _, ...env } = process.env;
  return { ...env, PATH: ownPath() };
};

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

/** One process at a time does `work`; the others wait. The lock of a process that is gone counts for nothing. */
export async function locked<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const lock = `${folder}/lock`;
  await mkdir(folder, { recursive: true });
  while (!(await writeFile(lock, String(process.pid), { flag: 'wx' }).then(() => true, () => false))) {
    const owner = Number(await readFile(lock, 'utf8').catch(() => '0'));
    if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
    await sleep(300);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Installs `test/peers/<name>` by its lockfile when that has not been done, and starts its `main.mjs`. */
export async function npmPeer(name: string): Promise<Found> {
  const folder = fileURLToPath(new URL(`${name}/`, PEERS));
  const lockfile = createHash('sha256').update(await readFile(`${folder}/package-lock.json`)).digest('hex');
  const mark = `${folder}/node_modules/.installed`;
  await locked(`${folder}/.cache`, async () => {
    if (existsSync(mark) && (await readFile(mark, 'utf8')) === lockfile) return;
    process.stderr.write(`installing peer ${name} (once)\n`);
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, env: peerEnv(), timeout: INSTALL_MS, maxBuffer: 2 ** 24 });
    await writeFile(mark, lockfile);
  });
  const node = await readFile(`${folder}/node_modules/.node`, 'utf8');
  return { start: () => startProcess(name, node, [`${folder}/main.mjs`], { cwd: folder }) };
}

/** Starts a peer in a process group of its own; it is ready when it prints one line of JSON with its `url`, or when `probe` answers one. */
export async function startProcess(name: string, command: string, args: string[], { cwd, probe }: { cwd: string; probe?: () => Promise<Record<string, unknown> & { url: string }> }): Promise<Peer> {
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
