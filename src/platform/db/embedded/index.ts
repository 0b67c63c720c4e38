import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Binaries, findBinaries, knownServerUser, placeFor, type ServerUser, serverUser } from './binaries.ts';
import { commandLine, HeldError, holdFile, processStart } from './processes.ts';

export interface EmbeddedPostgresOptions {
  /**
   * Everything of this server is below it; made when missing. As root it must be reachable for another user, else a
   * folder of the system is taken.
   */
  folder: string;
  /** Default: a free one. */
  port?: number;
  /** Told what happens, one sentence at a time; `warn` of what should not. */
  log?: (line: string) => void;
  warn?: (line: string) => void;
  /** A server that ends by itself is started again, on its port. Without it that is told, and left. */
  revive?: boolean;
  /** Postgres settings by name, for example `fsync`. */
  settings?: Readonly<Record<string, string>>;
}
export interface EmbeddedPostgres extends AsyncDisposable {
  url: string;
  port: number;
  /** The process id of the server that runs now. */
  readonly pid: number;
  /** Where its files really are. */
  folder: string;
}

const USER = 'rookery';
const DATABASE = 'rookery';
const START_SECONDS = 60; // recovery after a crash is part of it
const STOP_SECONDS = 10;
const SOCKET_PATH_MAX = 100; // of about 107 bytes, which the kernel allows
/** Before a server that ended is started again; twice as long each time that it did not live for a minute. */
const REVIVE_MS = { first: 250, longest: 30_000, steady: 60_000 };
const execute = promisify(execFile);

/**
 * Starts the Postgres that npm brings, on 127.0.0.1 only, with its data kept in `folder`.
 * Takes over after `kill -9`, and refuses a folder whose owner still runs (`HeldError`).
 */
export async function startEmbeddedPostgres({
  folder,
  port,
  log = () => {},
  warn = log,
  revive = false,
  settings = {},
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const user = serverUser(resolve(folder), log);
  const place = await placeFor(resolve(folder), user);
  await access(place, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw new Error(
      `The database folder ${place} belongs to another user. Start as that user, or choose another folder.`,
      { cause },
    );
  });
  const owner = await holdFile(join(place, 'owner.json'));
  try {
    const binaries = await findBinaries(user);
    const data = join(place, 'data');
    const password = await passwordIn(place);
    await endOrphan(data, log);
    if (!existsSync(join(data, 'PG_VERSION'))) {
      log('Making a new database (once, a few seconds)');
      await makeCluster(binaries, place, password, user);
    }
    const start: Start = { binaries, place, data, user, settings, warn };
    let server = await startServer(start, port);
    log(`Postgres ${server.pid} listens on 127.0.0.1:${server.port}, data in ${data}`);
    const url = `postgres://${USER}:${password}@127.0.0.1:${server.port}/${DATABASE}`;

    const ending = new AbortController();
    const isEnding = once(ending.signal, 'abort');
    /** Whoever uses the database connects again by himself, and learns from his own checks that it was away. */
    async function keepAlive(): Promise<void> {
      let waitMs = REVIVE_MS.first;
      for (;;) {
        const since = performance.now();
        await Promise.race([server.ended, isEnding]);
        if (performance.now() - since > REVIVE_MS.steady) waitMs = REVIVE_MS.first;
        for (let isUp = false; !isUp; waitMs = Math.min(2 * waitMs, REVIVE_MS.longest)) {
          await sleep(waitMs, undefined, { signal: ending.signal }).catch(() => undefined);
          if (ending.signal.aborted) return;
          try {
            server = await startServer(start, server.port);
            isUp = true;
            warn(`Postgres was started again as ${server.pid}`);
          } catch (error) {
            warn(`Postgres could not be started again, and will be tried again: ${said(error)}`);
          }
        }
      }
    }
    const alive = revive && keepAlive();
    return {
      url,
      port: server.port,
      get pid() {
        return server.pid;
      },
      folder: place,
      async [Symbol.asyncDispose]() {
        ending.abort();
        await alive;
        await endServer(server.pid, server.interrupt);
        await owner[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await owner[Symbol.asyncDispose]();
    throw error;
  }
}

export { HeldError };

/** Whether a start over `folder` finds a database there. */
export const hasDatabase = async (folder: string): Promise<boolean> =>
  existsSync(join(await placeFor(resolve(folder), knownServerUser(resolve(folder))), 'data', 'PG_VERSION'));

/** The address of the server that runs over `folder`; undefined when none does. */
export async function embeddedAddress(folder: string): Promise<string | undefined> {
  const place = await placeFor(resolve(folder), knownServerUser(resolve(folder)));
  const lines = (await readFile(join(place, 'data', 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])]; // as Postgres writes it: process, folder, start, port
  if (!pid || !port || processStart(pid) === undefined) return undefined;
  return `postgres://${USER}:${await passwordIn(place)}@127.0.0.1:${port}/${DATABASE}`;
}

/** Made once, readable for its owner alone. */
async function passwordIn(place: string): Promise<string> {
  const file = join(place, 'password');
  const known = await readFile(file, 'utf8').catch(() => '');
  if (known) return known.trim();
  const password = randomBytes(24).toString('base64url');
  await writeFile(file, password, { mode: 0o600 });
  return password;
}

/** The new cluster appears under its name only when it is whole: a start that was cut begins again. */
async function makeCluster(
  { initdb, postgres }: Binaries,
  place: string,
  password: string,
  user: ServerUser | undefined,
): Promise<void> {
  const draft = join(place, 'data.new');
  const secret = join(place, 'password.new');
  await rm(join(place, 'data'), { recursive: true, force: true }); // without PG_VERSION there is no cluster in it
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(secret, password, { mode: 0o600 });
  if (user) for (const path of [draft, secret]) chownSync(path, user.uid, user.gid);
  const options = { ...user, cwd: draft, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
  try {
    const made = execute(
      initdb,
      [
        `--pgdata=${draft}`,
        `--username=${USER}`,
        `--pwfile=${secret}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-instructions',
      ],
      options,
    );
    endWithUs(made.child, 'SIGTERM');
    await made;
    const single = execute(postgres, ['--single', '-D', draft, 'postgres'], options);
    endWithUs(single.child, 'SIGTERM');
    single.child.stdin?.end(`create database ${DATABASE};\n`);
    await single;
  } catch (cause) {
    throw new Error(`Postgres could not make its database in ${draft}: ${said(cause)}`, { cause });
  } finally {
    await rm(secret, { force: true });
  }
  await rename(draft, join(place, 'data'));
}
const said = (cause: unknown) =>
  (cause instanceof Error && 'stderr' in cause && String(cause.stderr).trim()) || String(cause);

interface PidFile {
  pid: number;
  data: string;
  ready: boolean;
  lines: readonly string[];
}
async function readPidFile(data: string): Promise<PidFile | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  return pid > 0 ? { pid, data: lines[1] ?? '', ready: lines[7]?.trim() === 'ready', lines } : undefined;
}
const isOurs = (pid: number, data: string) =>
  processStart(pid) !== undefined && commandLine(pid).includes(`-D ${data} `);

/**
 * Clears what `kill -9` of an earlier start has left: a server of this very folder is ended by its id, a stale pid file
 * is made harmless.
 */
async function endOrphan(data: string, log: (line: string) => void): Promise<void> {
  const file = await readPidFile(data);
  if (!file) return;
  if (isOurs(file.pid, data)) {
    log(`Ending Postgres ${file.pid}, left over from a start that was killed`);
    return endServer(file.pid, () => signal(file.pid, 'SIGINT'));
  }
  if (processStart(file.pid) === undefined && !exists(file.pid)) return; // Postgres sees that itself
  // The id belongs to another process by now, and Postgres would take that for a running server. The other lines stay:
  // by them it checks that no backend of the old server still uses the shared memory.
  await writeFile(join(data, 'postmaster.pid'), [String(2 ** 31 - 2), ...file.lines.slice(1)].join('\n'));
}
const exists = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended already
  }
};

/**
 * SIGINT ends sessions and writes a checkpoint; a server that does not follow is ended harder, and recovers at its next
 * start.
 */
async function endServer(pid: number, interrupt: () => void): Promise<void> {
  const startedAt = processStart(pid);
  const gone = async (seconds: number) => {
    for (let waited = 0; waited < seconds * 50; waited++) {
      if (startedAt === undefined || processStart(pid) !== startedAt) return true;
      await sleep(20);
    }
    return false;
  };
  interrupt();
  if (await gone(STOP_SECONDS)) return;
  signal(pid, 'SIGQUIT');
  if (await gone(STOP_SECONDS / 2)) return;
  signal(pid, 'SIGKILL');
  await gone(STOP_SECONDS / 2);
}

/** An exit without disposal, or in the middle of a start, leaves no orphan. After `kill -9` the next start finds it. */
function endWithUs(child: ChildProcess, by: NodeJS.Signals): void {
  const end = () => child.kill(by);
  process.on('exit', end);
  child.once('exit', () => process.off('exit', end));
}

const freePort = () =>
  new Promise<number>((done, fail) => {
    const probe = createServer().on('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address ? done(address.port) : fail(new Error('No free port')),
      );
    });
  });

interface Start {
  binaries: Binaries;
  place: string;
  data: string;
  user: ServerUser | undefined;
  settings: Readonly<Record<string, string>>;
  warn: (line: string) => void;
}
interface Server {
  pid: number;
  interrupt(): void;
  /** Whoever ended it. */
  ended: Promise<void>;
}

async function startServer(start: Start, wanted: number | undefined): Promise<Server & { port: number }> {
  for (let tries = 1; ; tries++) {
    const port = wanted ?? (await freePort());
    const result = await tryServer(start, port);
    if ('pid' in result) return { ...result, port };
    if (/could not bind|Address already in use/.test(result.failed)) {
      if (wanted !== undefined)
        throw new Error(
          `Port ${wanted} is taken, so Postgres cannot listen on 127.0.0.1:${wanted}. Give it another port.`,
        );
    } else if (
      !/still in use|is starting up/.test(result.failed) &&
      !(result.failed.includes('lock file "') && result.failed.includes('" already exists'))
    ) {
      throw new Error(
        `Postgres did not start. Its last words (${join(start.place, 'postgres.log')}):\n${result.failed}`,
      );
    }
    if (tries >= 20) throw new Error(`Postgres did not start in ${tries} attempts. Its last words:\n${result.failed}`);
    await sleep(500); // backends of a killed server notice its end within seconds
  }
}

/** One attempt: ready, or what the server said before it gave up. */
async function tryServer(
  { binaries, place, data, user, settings, warn }: Start,
  port: number,
): Promise<Server | { failed: string }> {
  const logFile = join(place, 'postgres.log');
  const sockets = join(place, 'sockets');
  await mkdir(sockets, { recursive: true, mode: 0o700 });
  if (user) chownSync(sockets, user.uid, user.gid);
  const options = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: Buffer.byteLength(sockets) + '/.s.PGSQL.65535'.length < SOCKET_PATH_MAX ? sockets : '',
    log_line_prefix: '%m [%p] ',
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...settings,
  };
  await rename(logFile, `${logFile}.1`).catch(() => undefined);
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(
    binaries.postgres,
    ['-D', data, '-p', String(port), ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      ...user,
      cwd: data,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', output, output],
      detached: true, // Ctrl-C is for us: the server ends after everything that uses it
    },
  );
  closeSync(output);
  endWithUs(child, 'SIGINT');
  const last: { words?: string } = {};
  child.on('error', (error) => (last.words = error.message));
  child.on('exit', (code, by) => (last.words = `ended with ${by ?? code}`));

  for (let waited = 0; waited < START_SECONDS * 50 && last.words === undefined; waited++) {
    const file = await readPidFile(data);
    if (file?.ready && file.pid === child.pid) {
      child.unref();
      let stopping = false;
      const ended = new Promise<void>((done) =>
        child.on('exit', (code, by) => {
          if (!stopping) warn(`Postgres ${child.pid} ended by itself (${by ?? code}): see ${logFile}`);
          done();
        }),
      );
      return {
        pid: child.pid,
        ended,
        interrupt: () => {
          stopping = true;
          child.kill('SIGINT');
        },
      };
    }
    await sleep(20);
  }
  child.kill('SIGKILL');
  const words = (await readFile(logFile, 'utf8').catch(() => '')).trim().split('\n').slice(-12).join('\n');
  return { failed: words || last.words || `Not ready after ${START_SECONDS} s` };
}
