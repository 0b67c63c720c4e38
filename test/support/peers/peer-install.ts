import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PEERS = new URL('../../peers/', import.meta.url);
const INSTALL_MS = 15 * 60_000;

/** Without the interpreter of this project in front: a peer is installed and run by the machine's own. */
const ownPath = () =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.endsWith('node_modules/.bin'))
    .join(delimiter);
export const peerEnv = (): NodeJS.ProcessEnv => {
  const { NODE_OPTIONS: _, ...env } = process.env;
  return { ...env, PATH: ownPath() };
};

/** One process at a time does `work`; the others wait. The lock of a process that is gone counts for nothing. */
export async function locked<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const lock = `${folder}/lock`;
  await mkdir(folder, { recursive: true });
  while (
    !(await writeFile(lock, String(process.pid), { flag: 'wx' }).then(
      () => true,
      () => false,
    ))
  ) {
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

/** What packages build for themselves is used by tests alone: compiling it fast counts for more than its speed. */
const COMPILED_FAST = { CFLAGS: '-O0', CXXFLAGS: '-O0', MAKEFLAGS: '-j2' };

const npm = (folder: string, ...words: string[]) =>
  run('npm', [...words, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    env: { ...peerEnv(), ...COMPILED_FAST },
    timeout: INSTALL_MS,
    maxBuffer: 2 ** 24,
  });

/** What a peer is made of is kept for all checkouts of a machine, like the programs of Dapr. */
export function peerCache(name: string): string {
  const cache = process.env['XDG_CACHE_HOME'] || `${process.env['HOME'] || homedir()}/.cache`;
  return `${cache}/rookery/peers/${name}`;
}

/**
 * Installs `test/peers/<name>` by its lockfile when this machine has not done so; its `node_modules` becomes a link to
 * what was installed. Answers its folder. `scripts`: packages may run their own, to build or to fetch a program.
 */
export async function installPeer(name: string, { scripts = true }: { scripts?: boolean } = {}): Promise<string> {
  const folder = fileURLToPath(new URL(name, PEERS));
  const hash = createHash('sha256');
  for (const file of ['package.json', 'package-lock.json']) hash.update(await readFile(`${folder}/${file}`));
  const kept = peerCache(`npm-${hash.digest('hex').slice(0, 16)}`);
  await locked(kept, async () => {
    const installed = `${kept}/${name}`;
    if (!existsSync(`${kept}/installed`)) {
      process.stderr.write(`installing peer ${name} (once)\n`);
      await mkdir(installed, { recursive: true });
      await cp(fileURLToPath(new URL('record-node.mjs', PEERS)), `${kept}/record-node.mjs`);
      for (const file of ['package.json', 'package-lock.json']) await cp(`${folder}/${file}`, `${installed}/${file}`);
      const how = `--ignore-scripts=${!scripts}`;
      await npm(installed, 'ci', how).catch(async (error: Error) => {
        // a lockfile that lacks optional packages of other platforms (see scripts/install.mjs)
        if (!error.message.includes('EUSAGE')) throw error;
        await npm(installed, 'install', '--no-save', how);
      });
      await writeFile(`${kept}/installed`, '');
    }
    const [link, modules] = [`${folder}/node_modules`, `${installed}/node_modules`];
    if ((await readlink(link).catch(() => '')) === modules) return;
    await rm(link, { recursive: true, force: true });
    await symlink(modules, link);
  });
  return folder;
}

async function built(
  name: string,
  folder: string,
  build: (env: NodeJS.ProcessEnv) => Promise<unknown>,
): Promise<string> {
  const program = `${folder}/${name}`;
  await locked(folder, async () => {
    if (existsSync(program)) return;
    process.stderr.write(`building peer ${basename(folder)} (once)\n`);
    await build({ ...peerEnv(), GOBIN: folder, GOFLAGS: '-modcacherw', GOWORK: 'off' });
  });
  return program;
}
const go = (cwd: string, env: NodeJS.ProcessEnv, ...words: string[]) =>
  run('go', words, { cwd, env, timeout: INSTALL_MS, maxBuffer: 2 ** 24 });

/** Builds a program of a Go module when this machine does not have it; answers its path. */
export async function goProgram(path: string, version: string): Promise<string> {
  const folder = peerCache(`${basename(path)}-${version}`);
  return built(basename(path), folder, (env) => go(folder, env, 'install', `${path}@${version}`));
}

/**
 * The same of a module with `replace` lines, which `go install` refuses: its package `part`, beside the files of the
 * module.
 */
export async function goSource(module: string, version: string, part: string): Promise<string> {
  const folder = peerCache(`${basename(module)}-${version}`);
  return built(basename(module), folder, async (env) => {
    const { stdout } = await go(folder, env, 'mod', 'download', '-json', `${module}@${version}`);
    await cp((JSON.parse(stdout) as { Dir: string }).Dir, folder, { recursive: true });
    await run('chmod', ['-R', 'u+w', folder]); // the module cache is read-only
    await go(folder, { ...env, CGO_ENABLED: '0' }, 'build', '-o', basename(module), part);
  });
}
