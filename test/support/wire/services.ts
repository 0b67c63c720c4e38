import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../../src/platform/db/embedded/index.ts';
import { buildTemplate } from './database.ts';
import { freePort } from './ports.ts';

const START_MS = 60_000;
/** A folder in memory, as Linux has one, and the room there that the databases of a run never fill. */
const IN_MEMORY = '/dev/shm';
const ROOM_BYTES = 4 * 1_024 ** 3;

export interface Services extends AsyncDisposable {
  databaseUrl: string;
  redisUrl: string | undefined;
}

/** A Redis of our own on a free port, or on the one that it had before; undefined where the machine has none. */
export async function startRedis(
  more: readonly string[] = [],
  given?: number,
): Promise<(AsyncDisposable & { url: string; pid: number }) | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return undefined;
  const port = given ?? (await freePort());
  const dir = mkdtempSync(join(tmpdir(), 'rookery-redis-'));
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir, ...more],
    { stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const answers = () =>
    spawnSync('redis-cli', ['-p', String(port), 'ping'])
      .stdout?.toString()
      .startsWith('PONG');
  for (const end = performance.now() + START_MS; !answers(); await sleep(50))
    if (child.exitCode !== null || performance.now() > end)
      throw new Error(`redis-server does not answer on port ${port} (exit code ${child.exitCode})`);
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * The place for a server whose databases are made and dropped by the hundred, each of a thousand files: a file system on
 * a disk takes most of the time of that.
 */
function placeForDatabases(): string {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= ROOM_BYTES ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * The Postgres that `npm start` would use, in a folder of its own, and a Redis. `TEST_DATABASE_URL` names another
 * server.
 */
export async function startServices(): Promise<Services> {
  const given = process.env['TEST_DATABASE_URL'];
  const folder = mkdtempSync(join(placeForDatabases(), 'rookery-test-'));
  chmodSync(folder, 0o777); // Postgres runs as a user of its own when the tests run as root
  const postgres = given
    ? undefined
    : await startEmbeddedPostgres({
        folder: join(folder, 'postgres'),
        // each database that is made or dropped is a checkpoint, after which whole pages would go into the log
        settings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
      });
  process.env['TEST_DATABASE_URL'] = given ?? postgres!.url;
  const redis = await startRedis();
  await buildTemplate();
  return {
    databaseUrl: process.env['TEST_DATABASE_URL'],
    redisUrl: redis?.url,
    async [Symbol.asyncDispose]() {
      await redis?.[Symbol.asyncDispose]();
      await postgres?.[Symbol.asyncDispose]();
      tellDeadlocks(join(folder, 'postgres', 'postgres.log'));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Prints the deadlocks of a run with their statements: what is answered 503 in time may have passed its test. */
function tellDeadlocks(log: string): void {
  const entries = existsSync(log) ? readFileSync(log, 'utf8').split(/^(?=\d{4}-)/m) : [];
  const told = entries.filter((one) => /DETAIL: .*waits for/.test(one));
  if (told.length > 0) process.stderr.write(`${told.length} deadlocks in the databases of this run:\n${told.join('')}`);
}
