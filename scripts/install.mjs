// Runs before `npm start` and the others, with whatever Node (18 or newer) and npm are there: installs what the lockfile names,
// when that is not what lies in node_modules. Nothing to do: no word, no network. May be interrupted and run side by side.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = process.env.ROOKERY_INSTALL_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const MODULES = join(ROOT, 'node_modules');
const STAMP = join(MODULES, '.rookery-install');
const LOCK = join(ROOT, '.cache', 'install.lock');
const NODE = join(MODULES, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
const LOCK_STALE_MS = 30_000;

const say = (line) => process.stderr.write(`${line}\n`);
const fail = (line) => {
  say(line);
  process.exit(1);
};
const wanted = () =>
  createHash('sha256')
    .update(readFileSync(join(ROOT, 'package.json')))
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex');
const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
const isInstalled = () => read(STAMP) === wanted() && existsSync(NODE);

/** True when npm wrote down a whole run, and every package is there in the locked version. (npm notes down more than it installed with --package-lock-only.) */
function matchesLockfile() {
  try {
    const locked = JSON.parse(read(join(ROOT, 'package-lock.json'))).packages;
    const there = JSON.parse(read(join(MODULES, '.package-lock.json'))).packages;
    const needed = Object.entries(locked).filter(([path]) => path !== '');
    return (
      needed.every(([path, { version, integrity, optional, link }]) => {
        const found = there[path];
        if (!found) return optional === true;
        if (link) return existsSync(join(ROOT, path));
        return found.version === version && found.integrity === integrity && JSON.parse(read(join(ROOT, path, 'package.json')) || '{}').version === version;
      }) && Object.keys(there).every((path) => path in locked)
    );
  } catch {
    return false;
  }
}

/**
 * `npm ci` refuses a lockfile that lacks an optional package of another platform, which is how npm writes it where the registry did not have
 * that one. Then `npm install` does the work without saving anything, and what it did is compared with the lockfile afterwards.
 */
function lacksOptional() {
  const packages = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const locked = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)));
  return Object.values(packages).some(({ optionalDependencies = {} }) => Object.keys(optionalDependencies).some((name) => !locked.has(name)));
}

/** Whether the lockfile was made for this package.json. */
function fitsManifest() {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const root = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages[''] ?? {};
  const sorted = (wants = {}) => JSON.stringify(Object.entries(wants).sort(([a], [b]) => (a < b ? -1 : 1)));
  return ['dependencies', 'devDependencies', 'optionalDependencies'].every((kind) => sorted(manifest[kind]) === sorted(root[kind]));
}

function stamp() {
  const draft = `${STAMP}.${process.pid}`;
  writeFileSync(draft, wanted());
  renameSync(draft, STAMP);
}

/** Node 24 comes as an npm package, whose install script puts the program in place. */
function checkNode() {
  const said = existsSync(NODE) ? spawnSync(NODE, ['--version'], { encoding: 'utf8', shell: process.platform === 'win32' }).stdout?.trim() : '';
  if (!said?.startsWith('v24.'))
    fail(
      `Node 24 did not arrive in node_modules/.bin (${said || 'nothing there'}): install scripts seem to be switched off. Run: npm rebuild node --ignore-scripts=false`,
    );
}

const alive = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Held by one run at a time, renewed while it lasts; a run that died leaves one that is taken over. */
async function takeLock() {
  mkdirSync(dirname(LOCK), { recursive: true });
  for (let told = false; ;) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`Cannot install: ${LOCK} cannot be written (${error.code}).`);
    }
    const holder = Number(read(LOCK));
    const age = Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > LOCK_STALE_MS || (holder > 0 && !alive(holder))) {
      const taken = `${LOCK}.${process.pid}`;
      try {
        renameSync(LOCK, taken); // only one of several can
        if (Number(read(taken)) !== holder) linkSync(taken, LOCK); // renewed by another in between: it goes back
        rmSync(taken, { force: true });
      } catch {
        // another run was faster
      }
      continue;
    }
    if (!told) say(`Another install is under way (process ${holder}), waiting for it.`);
    told = true;
    await new Promise((done) => setTimeout(done, 300));
  }
  const renew = setInterval(() => {
    try {
      utimesSync(LOCK, new Date(), new Date());
    } catch {
      // it was taken away; what counts is the stamp
    }
  }, 3_000);
  return () => {
    clearInterval(renew);
    if (Number(read(LOCK)) === process.pid) rmSync(LOCK, { force: true });
  };
}

/** npm as it was called, else the one on the path. Development packages too: what runs here is what is tested here. */
function runNpm(onChild) {
  const whole = !lacksOptional();
  const args = [...(whole ? ['ci'] : ['install', '--no-save', '--include=optional']), '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  if (!whole) rmSync(MODULES, { recursive: true, force: true }); // as npm ci does
  const npm = process.env.npm_execpath;
  // This may be the Node of node_modules, which is about to be replaced: npm runs with the one that it came with.
  const ours = process.execPath.startsWith(MODULES + sep);
  const PATH = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(MODULES + sep))
    .join(delimiter);
  const env = { ...process.env, PATH, NODE_OPTIONS: '', npm_node_execpath: '', NODE: '' };
  const [command, all] = npm?.endsWith('.js') ? [ours ? 'node' : process.execPath, [npm, ...args]] : ['npm', args];
  return new Promise((done) => {
    const child = spawn(command, all, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' && command === 'npm' });
    onChild(child);
    child.on('error', (error) => (say(error.code === 'ENOENT' ? `There is no ${command} on the path.` : error.message), done(1)));
    child.on('close', (code, signal) => done(signal ? 130 : code));
  });
}

async function main() {
  if (Number(process.versions.node.split('.')[0]) < 18) fail(`Node 18 or newer is needed to install; this is ${process.version}.`);
  if (isInstalled()) return;
  if (!existsSync(join(ROOT, 'package-lock.json'))) fail('There is no package-lock.json: this is not a whole checkout.');
  if (!fitsManifest()) fail('package-lock.json does not fit package.json. Run npm install, and keep both.');

  const release = await takeLock();
  let child;
  const interrupted = (signal) => {
    if (child) child.kill(signal); // the end follows below
    else {
      release();
      process.exit(130);
    }
  };
  process.on('SIGINT', () => interrupted('SIGINT'));
  process.on('SIGTERM', () => interrupted('SIGTERM'));
  process.on('exit', release);

  if (isInstalled()) return release(); // by the run that we waited for
  if (!matchesLockfile() || !existsSync(NODE)) {
    const started = Date.now();
    say('Installing what package-lock.json names (once; a minute or so) …');
    const status = await runNpm((one) => (child = one));
    child = undefined;
    if (status !== 0) {
      say(
        status === 130
          ? 'Interrupted. Run it again: it starts from the beginning.'
          : 'npm failed, see above. It needs the network or a filled npm cache this one time. Run it again when that is there.',
      );
      release();
      process.exit(status || 1);
    }
    if (!matchesLockfile()) {
      release();
      fail('What npm installed is not what package-lock.json names. Run npm install, and keep the package-lock.json that it writes.');
    }
    say(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`);
  }
  checkNode();
  stamp();
  release();
}

await main();
