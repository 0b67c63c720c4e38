import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { serverUser } from '../../../src/platform/db/embedded/binaries.ts';
import { migrate, openDatabase } from '../../../src/platform/db/index.ts';
import { eventually } from '../wire/eventually.ts';
import { freePort } from '../wire/ports.ts';

/** The Postgres of npm has no programs for a backup; a server can be saved by those of its own release, or of a later one. */
const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'createdb'];
const DEBIAN = '/usr/lib/postgresql';

/** The folder of a Postgres of the system that has its server and the programs for a backup; undefined: there is none. */
export function systemPostgres(): string | undefined {
  const releases = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : [];
  return [...releases.map((release) => join(DEBIAN, release, 'bin')), ...process.env['PATH']!.split(delimiter)].find(
    (folder) => PROGRAMS.every((program) => existsSync(join(folder, program))),
  );
}

/** A server of the Postgres in `bin` for one test, with a migrated database. Disposing of it ends it. */
export async function startSystemPostgres(bin: string): Promise<AsyncDisposable & { url: string }> {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-system-postgres-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  chmodSync(folder, 0o711);
  const user = serverUser(folder, () => {}); // Postgres runs as a user of its own when the tests run as root
  if (user) chownSync(data, user.uid, user.gid);
  const options = { ...user, cwd: data, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
  const cluster = [`--pgdata=${data}`, '--username=rookery', '--auth=trust', '--encoding=UTF8', '--locale=C'];
  await promisify(execFile)(join(bin, 'initdb'), cluster, options);
  const port = await freePort();
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' };
  const server = spawn(
    join(bin, 'postgres'),
    [
      '-D',
      data,
      '-p',
      String(port),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { ...options, stdio: 'ignore' },
  );
  const ended = once(server, 'exit');
  opened.defer(async () => {
    server.kill('SIGINT');
    await ended;
  });
  const urlOf = (name: string) => `postgres://rookery@127.0.0.1:${port}/${name}`;
  await eventually('Postgres of the system answers', () => {
    try {
      execFileSync(join(bin, 'createdb'), [`--maintenance-db=${urlOf('postgres')}`, 'rookery'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
  const sql = openDatabase({ url: urlOf('rookery'), connections: 1 });
  await migrate(sql);
  await sql.end();
  const open = opened.move();
  return { url: urlOf('rookery'), [Symbol.asyncDispose]: () => open.disposeAsync() };
}
