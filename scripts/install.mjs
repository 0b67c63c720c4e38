// Makes sure that node_modules holds what package-lock.json names, and that the one Node that Rookery runs on is there.
// Runs under any Node from 18 on. Nothing to do: no word, no network. May be interrupted and run side by side.
//
// Scripts of packages never run. Node comes as a package of the lockfile, held by its integrity; for a system whose package the lockfile
// has not, as the archive of nodejs.org, held by the checksum in node.json.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that is installed. */
export const ROOT = process.env.ROOKERY_INSTALL_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const MODULES = join(ROOT, 'node_modules');
const STAMP = join(MODULES, '.rookery-install');
const LOCK = join(ROOT, '.cache', 'install.lock');
const LOCK_STALE_MS = 30_000;
const MACHINE = `${process.platform}-${process.arch}`;
const WINDOWS = process.platform === 'win32';

const say = (line) => process.stderr.write(`${line}\n`);
const fail = (line) => {
  say(line);
  process.exit(1);
};
const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
const parse = (...path) => JSON.parse(read(join(ROOT, ...path)));
const sha256 = (...contents) =>
  contents.reduce((hash, content) => hash.update(content), createHash('sha256')).digest('hex');

/** What the stamp in node_modules says of an installation that was found whole: for what it was made, with which packages, and its Node. */
const wanted = () =>
  `${MACHINE} ${sha256(...['package.json', 'package-lock.json', 'scripts/node.json'].map((file) => read(join(ROOT, file))))}`;
function stamped(development) {
  const [what, packages, path = ''] = read(STAMP).split('\n');
  const program = resolve(ROOT, path);
  return what === wanted() && (packages === 'whole' || !development) && existsSync(program) ? program : undefined;
}

/** Written whole or not at all; in a folder that cannot be written everything is compared each time. */
function stamp(development, program) {
  const draft = `${STAMP}.${process.pid}`;
  try {
    writeFileSync(
      draft,
      [
        wanted(),
        development ? 'whole' : 'production',
        program.startsWith(ROOT) ? relative(ROOT, program) : program,
      ].join('\n'),
    );
    renameSync(draft, STAMP);
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error;
  }
}

/** Whether npm wrote down a whole run for this package.json, and every package is there in the locked version. */
function matchesLockfile(development) {
  try {
    const locked = parse('package-lock.json').packages;
    const there = parse('node_modules', '.package-lock.json').packages;
    const sorted = (wants = {}) => JSON.stringify(Object.entries(wants).sort(([a], [b]) => (a < b ? -1 : 1)));
    const manifest = parse('package.json');
    return (
      ['dependencies', 'devDependencies', 'optionalDependencies'].every(
        (kind) => sorted(manifest[kind]) === sorted(locked[''][kind]),
      ) &&
      Object.keys(there).every((path) => path in locked) &&
      Object.entries(locked).every(([path, { version, integrity, link, dev, optional, devOptional }]) => {
        if (path === '' || (dev && !development)) return true;
        if (!there[path]) return optional === true || devOptional === true; // of another platform
        if (link) return existsSync(join(ROOT, path));
        return (
          there[path].integrity === integrity &&
          JSON.parse(read(join(ROOT, path, 'package.json')) || '{}').version === version
        );
      })
    );
  } catch {
    return false;
  }
}

/** Where the program is that a package of the lockfile brings, or the archive. */
const packaged = join(
  MODULES,
  `node-${process.platform.replace('win32', 'win')}-${process.arch}`,
  'bin',
  WINDOWS ? 'node.exe' : 'node',
);
const unpacked = ({ version }) => join(ROOT, '.cache', `node-v${version}-${MACHINE}`, 'bin', 'node');
const versionOf = (program) =>
  existsSync(program)
    ? spawnSync(program, ['--version'], {
        encoding: 'utf8',
        env: { ...process.env, NODE_OPTIONS: '' },
      }).stdout?.trim() || 'nothing that runs here'
    : 'nothing';

/** Fetches the archive of Node for this machine and unpacks its program when the checksum is the one of node.json. */
async function fetchNode({ version, archives, sha256: sums }) {
  const name = `node-v${version}-${MACHINE}`;
  const folder = join(ROOT, '.cache', `${name}.${process.pid}`);
  const archive = join(folder, `${name}.tar.gz`);
  say(`Fetching Node ${version} from ${archives} …`);
  try {
    mkdirSync(folder, { recursive: true });
    const answer = await fetch(`${archives}${name}.tar.gz`);
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (sha256(bytes) !== sums[MACHINE])
      throw new Error(`its sha256 is ${sha256(bytes)}, and should be ${sums[MACHINE]}`);
    writeFileSync(archive, bytes);
    const { status, stderr } = spawnSync(
      'tar',
      ['-xzf', archive, '-C', folder, '--strip-components=1', `${name}/bin/node`],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`it cannot be unpacked: ${stderr?.trim()}`);
    rmSync(archive);
    rmSync(join(ROOT, '.cache', name), { recursive: true, force: true });
    renameSync(folder, join(ROOT, '.cache', name));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    fail(`Node ${version} cannot be had from ${archives}${name}.tar.gz: ${error.cause?.message ?? error.message}.`);
  }
}

/** The Node that everything runs on. Where none of ours runs, for example on a system with musl, the one that runs this, if it is new enough. */
function findNode() {
  const node = parse('scripts', 'node.json');
  const program = [packaged, unpacked(node)].find((one) => versionOf(one) === `v${node.version}`);
  if (program) return program;
  const isNew = Number(process.versions.node.split('.')[0]) >= Number(node.version.split('.')[0]);
  return isNew && !(MACHINE in node.sha256) ? process.execPath : undefined;
}

/** `node` in node_modules/.bin, for scripts that call it by name. npm 10 leaves it out, and an archive is none of its packages. */
function linkNode(program) {
  const link = join(MODULES, '.bin', 'node');
  if (WINDOWS || versionOf(link) === versionOf(program)) return;
  mkdirSync(dirname(link), { recursive: true });
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link);
  symlinkSync(program.startsWith(ROOT) ? relative(dirname(link), program) : program, link);
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

/** `npm ci`, by npm as it was called, else the one on the path. */
function runNpm(development, onChild) {
  const args = [
    'ci',
    '--ignore-scripts',
    development ? '--include=dev' : '--omit=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
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
    const child = spawn(command, all, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: WINDOWS && command === 'npm',
    });
    onChild(child);
    child.on(
      'error',
      (error) => (say(error.code === 'ENOENT' ? `There is no ${command} on the path.` : error.message), done(1)),
    );
    child.on('close', (code, signal) => done(signal ? 130 : code));
  });
}

/** Under the lock: packages, then Node. Ends the process when it cannot be done. */
async function installNow(development) {
  let child;
  const release = await takeLock();
  const interrupted = (signal) => {
    if (child) return void child.kill(signal); // the end follows below
    release();
    process.exit(130);
  };
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', interrupted);
  process.on('exit', release);

  if (!stamped(development)) {
    const started = Date.now();
    say('Installing what package-lock.json names (once; a minute or so) …');
    const status = await runNpm(development, (one) => (child = one));
    child = undefined;
    if (status !== 0) {
      say(
        status === 130
          ? 'Interrupted. Run it again: it starts from the beginning.'
          : 'npm failed, see above. It needs the network or a filled npm cache this one time. Run it again when that is there.',
      );
      process.exit(status || 1);
    }
    say(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`);
  }
  const node = parse('scripts', 'node.json');
  if (!findNode() && MACHINE in node.sha256) await fetchNode(node);
  const program = findNode();
  if (!program)
    fail(
      `Node ${node.version} does not run on this machine (${MACHINE}): ${packaged} is ${versionOf(packaged)}. Start with a Node of your own, ${node.version} or newer.`,
    );
  if (program === process.execPath && process.version !== `v${node.version}`)
    say(`Node ${node.version} does not run on this machine: this one is used, ${process.version}.`);
  linkNode(program);
  stamp(development, program);

  process.off('SIGINT', interrupted);
  process.off('SIGTERM', interrupted);
  process.off('exit', release);
  release();
  return program;
}

/**
 * Installs what is missing and answers the path of the Node to run on. `development`: with the packages for tests and checks; by default
 * wherever NODE_ENV is not `production`.
 */
export async function install(development = process.env.NODE_ENV !== 'production') {
  if (Number(process.versions.node.split('.')[0]) < 18)
    fail(`Node 18 or newer is needed to install; this is ${process.version}.`);
  if (!existsSync(join(ROOT, 'package-lock.json')))
    fail('There is no package-lock.json: this is not a whole checkout.');
  const known = stamped(development);
  if (known) return known;
  const program = matchesLockfile(development) ? findNode() : undefined;
  if (!program) return installNow(development);
  linkNode(program); // npm was called by hand
  stamp(development, program);
  return program;
}
