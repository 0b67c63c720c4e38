import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/wire/eventually.ts';

// What installs on a small project whose packages lie beside it, so that the real npm installs them without any
// network.

jest.setTimeout(180_000); // npm runs several times in a test
const base = mkdtempSync(join(tmpdir(), 'rookery-install-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const SCRIPT = join(import.meta.dirname, '../../../scripts/node24.mjs');
let project = '';
let projects = 0;

const write = (path: string, content: string | object, mode = 0o644) => {
  mkdirSync(join(project, path, '..'), { recursive: true });
  writeFileSync(join(project, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  chmodSync(join(project, path), mode);
};
const pack = (name: string, more: object = {}) =>
  write(`packages/${name}/package.json`, { name, version: '1.0.0', ...more });
const lock = () =>
  execFileSync('npm', ['install', '--package-lock-only', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: project,
    stdio: 'pipe',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
const files = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `file:packages/${name}`]));
const depend = (...names: string[]) => {
  write('package.json', { name: 'small', version: '1.0.0', dependencies: files(names) });
  lock();
};

const NODE = `node-${process.platform}-${process.arch}`;
const PROGRAM = `packages/${NODE}/bin/node`;
const VERSION = '24.0.0';
/** Stands for Node: tells a version, and what it was told to run. */
const program = (version = VERSION) =>
  `#!/bin/sh\nif [ "$1" = --version ]; then echo v${version}; else echo "ran $*"; fi\n`;

beforeEach(() => {
  project = join(base, `project-${(projects += 1)}`);
  write('scripts/node.json', { version: VERSION, archives: 'http://127.0.0.1:9/', sha256: {} });
  write(PROGRAM, program(), 0o755);
  pack(NODE, { bin: { node: 'bin/node' } });
  pack('other');
  depend(NODE);
});

interface Run {
  status: number | null;
  said: string;
}
function begin(
  env: Record<string, string> = {},
  script = [SCRIPT],
): { child: ChildProcess; said: () => string; done: Promise<Run> } {
  const child = spawn(process.execPath, script, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      npm_execpath: '',
      npm_config_offline: 'true',
      ROOKERY_INSTALL_ROOT: project,
      ...env,
    },
  });
  let said = '';
  child.stdout!.on('data', (data) => (said += data));
  child.stderr!.on('data', (data) => (said += data));
  return {
    child,
    said: () => said,
    done: new Promise((done) => child.once('close', (status) => done({ status, said }))),
  };
}
const run = (env: Record<string, string> = {}) => begin(env).done;
/**
 * Counts how often npm was asked, waits until it is let go (or whoever asked is gone), and leaves the work to the real
 * one.
 */
function heldNpm(): Record<string, string> {
  const real = execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim();
  write(
    'npm-held.js',
    `
    const { appendFileSync, existsSync } = require('node:fs');
    const parent = process.ppid;
    appendFileSync(${JSON.stringify(join(project, 'asked'))}, 'x');
    const held = setInterval(() => {
      if (process.ppid !== parent) process.exit(1);
      if (!existsSync(${JSON.stringify(join(project, 'go'))})) return;
      clearInterval(held);
      require('node:child_process').spawn(process.execPath, [${JSON.stringify(real)}, ...process.argv.slice(2)], { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));
    }, 20);`,
  );
  return { npm_execpath: join(project, 'npm-held.js') };
}
const letNpmGo = () => write('go', '');
const asked = () => (existsSync(join(project, 'asked')) ? readFileSync(join(project, 'asked'), 'utf8').length : 0);

describe('the install step before a command', () => {
  test('installs and says so, and the second time prints nothing and does not run npm', async () => {
    const first = await run({ NODE_ENV: 'production' });
    expect(first).toMatchObject({ status: 0, said: expect.stringMatching(/^Installing .*\nInstalled in \d+ s\.\n$/) });
    expect(existsSync(join(project, `node_modules/${NODE}`))).toBe(true);
    expect(await run({ PATH: '/nowhere', npm_execpath: '/nowhere/npm.js' })).toEqual({ status: 0, said: '' });
  });

  test('installs again when the lockfile differs', async () => {
    await run();
    depend(NODE, 'other');
    expect((await run()).said).toContain('Installed');
    expect(existsSync(join(project, 'node_modules/other'))).toBe(true);
  });

  test('accepts a complete npm installation and not one that lacks a package', async () => {
    depend(NODE, 'other');
    execFileSync('npm', ['ci', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: project,
      stdio: 'pipe',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(await run({ PATH: process.env['PATH']!, npm_execpath: '/nowhere/npm.js' })).toEqual({ status: 0, said: '' });
    rmSync(join(project, 'node_modules/.rookery-install'));
    pack('third');
    depend(NODE, 'other', 'third');
    expect((await run()).said).toContain('Installed');
    expect(existsSync(join(project, 'node_modules/third'))).toBe(true);
  });

  test('refuses a lockfile made for another package.json', async () => {
    write('package.json', {
      name: 'small',
      version: '1.0.0',
      dependencies: { [NODE]: `file:packages/${NODE}`, other: 'file:packages/other' },
    });
    const { status, said } = await run();
    expect([status, said]).toEqual([1, expect.stringMatching(/package\.json and package-lock\.json[^]* in sync/)]);
  });

  test('is run by one of two concurrent starts; the other waits and does nothing', async () => {
    const npm = heldNpm();
    const both = [begin(npm), begin(npm)];
    await eventually('one waits for the other', () => both.some(({ said }) => said().includes('waiting')));
    letNpmGo();
    const [one, two] = (await Promise.all(both.map(({ done }) => done))) as [Run, Run];
    expect([one.status, two.status, asked()]).toEqual([0, 0, 1]);
    expect([one.said, two.said].filter((said) => said.includes('waiting'))).toHaveLength(1);
    expect(existsSync(join(project, '.cache/install.lock'))).toBe(false);
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)('begins again after an interruption by %s', async (signal) => {
    const npm = heldNpm();
    const { child, done } = begin(npm);
    await eventually('npm is asked', () => asked() === 1);
    child.kill(signal);
    expect((await done).status).not.toBe(0);
    expect(existsSync(join(project, 'node_modules/.rookery-install'))).toBe(false);
    letNpmGo();
    expect((await run(npm)).status).toBe(0);
    expect(existsSync(join(project, 'node_modules/.rookery-install'))).toBe(true);
  });

  test('ignores the lock of a dead process', async () => {
    const gone = spawn('true');
    await new Promise((done) => gone.once('exit', done));
    write('.cache/install.lock', String(gone.pid));
    const { status, said } = await run();
    expect([status, said.includes('waiting')]).toEqual([0, false]);
  });

  test('prints the remedy when npm fails', async () => {
    const locked = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, object>;
    };
    const absent = {
      version: '1.0.0',
      resolved: 'https://packages.invalid/absent-1.0.0.tgz',
      integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
    };
    write('package.json', {
      name: 'small',
      version: '1.0.0',
      dependencies: { [NODE]: `file:packages/${NODE}`, absent: '1.0.0' },
    });
    locked.packages = {
      ...locked.packages,
      '': { name: 'small', version: '1.0.0', dependencies: { [NODE]: `file:packages/${NODE}`, absent: '1.0.0' } },
      'node_modules/absent': absent,
    };
    write('package-lock.json', locked);
    const failed = await run();
    expect(failed.status).not.toBe(0);
    expect(failed.said).toContain('Run it again');
  });

  test('runs no script of a package, even where npm is told to run them', async () => {
    const script = (name: string) => `node -e "require('fs').writeFileSync('${join(project, name)}', '')"`;
    pack('other', {
      scripts: {
        preinstall: script('pre'),
        install: script('in'),
        postinstall: script('post'),
        prepare: script('prepare'),
      },
    });
    depend(NODE, 'other');
    expect((await run({ npm_config_ignore_scripts: 'false' })).said).toContain('Installed');
    expect(existsSync(join(project, 'node_modules/other'))).toBe(true);
    expect(['pre', 'in', 'post', 'prepare'].filter((name) => existsSync(join(project, name)))).toEqual([]);
  });

  test('omits packages for development where NODE_ENV is production and installs them on demand', async () => {
    write('package.json', {
      name: 'small',
      version: '1.0.0',
      dependencies: files([NODE]),
      devDependencies: files(['other']),
    });
    lock();
    const other = () => existsSync(join(project, 'node_modules/other'));
    expect((await run({ NODE_ENV: 'production' })).said).toContain('Installed');
    expect(other()).toBe(false);
    expect((await run()).said).toContain('Installed');
    expect(other()).toBe(true);
    // more than it needs
    expect(await run({ NODE_ENV: 'production', npm_execpath: '/nowhere/npm.js' })).toEqual({ status: 0, said: '' });
  });

  test('links the program whose name several packages share, which npm 10 does not', async () => {
    await run();
    const link = join(project, 'node_modules/.bin/node');
    for (const name of [link, join(project, 'node_modules/.rookery-install')]) rmSync(name);
    expect(await run({ npm_execpath: '/nowhere/npm.js' })).toEqual({ status: 0, said: '' });
    expect(execFileSync(link, ['--version'], { encoding: 'utf8' })).toBe(`v${VERSION}\n`);
  });

  test('installs again what npm has installed without a record or in another version', async () => {
    await run();
    rmSync(join(project, 'node_modules/.rookery-install'));
    const noted = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8')) as {
      packages: Record<string, object>;
    };
    write('node_modules/.package-lock.json', {
      ...noted,
      packages: { ...noted.packages, 'node_modules/stranger': { version: '1.0.0' } },
    });
    expect((await run()).said).toContain('Installed');
  });
});

describe('the Node archive, where the lockfile has no package of it', () => {
  const machine = `${process.platform}-${process.arch}`;
  const name = `node-v${VERSION}-${machine}`;
  let archive: Buffer;
  let served: Buffer;
  const server = createServer((request, response) => {
    if (request.url === `/${name}.tar.gz`) response.end(served);
    else response.writeHead(404).end();
  });
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
  afterAll(() => void server.close());

  beforeEach(() => {
    write(`${name}/bin/node`, program(), 0o755);
    write(`${name}/bin/npm`, 'not wanted');
    execFileSync('tar', ['-czf', join(project, 'node.tar.gz'), '-C', project, name]);
    served = archive = readFileSync(join(project, 'node.tar.gz'));
    depend('other');
    write('scripts/node.json', { version: VERSION, archives: address(), sha256: { [machine]: sha256(archive) } });
  });

  test('is downloaded once, verified before it is unpacked, and run', async () => {
    const first = await run();
    expect(first).toMatchObject({ status: 0, said: expect.stringContaining(`Fetching Node ${VERSION}`) });
    expect(existsSync(join(project, `.cache/${name}/bin/npm`))).toBe(false);
    served = Buffer.from('gone');
    expect(await run()).toEqual({ status: 0, said: '' });
    rmSync(join(project, 'node_modules'), { recursive: true }); // as npm ci does
    expect((await run()).said).not.toContain('Fetching');
    expect(execFileSync(join(project, 'node_modules/.bin/node'), ['--version'], { encoding: 'utf8' })).toBe(
      `v${VERSION}\n`,
    );
    const ran = await begin({}, [SCRIPT, 'some.ts', 'one', 'two']).done;
    expect(ran).toEqual({ status: 0, said: `ran ${join(project, 'some.ts')} one two\n` });
  });

  test('is neither unpacked nor kept with a wrong checksum', async () => {
    served = Buffer.concat([archive, Buffer.from('x')]);
    const { status, said } = await run();
    expect([status, said]).toEqual([
      1,
      expect.stringContaining(`its sha256 is ${sha256(served)}, and should be ${sha256(archive)}`),
    ]);
    expect(readdirSync(join(project, '.cache'))).toEqual([]);
  });

  test('is named with its address when the download fails', async () => {
    write('scripts/node.json', {
      version: VERSION,
      archives: `${address()}away/`,
      sha256: { [machine]: sha256(archive) },
    });
    expect(await run()).toMatchObject({
      status: 1,
      said: expect.stringContaining(`${address()}away/${name}.tar.gz: it answered 404`),
    });
  });
});

test('is replaced by the installed Node when that is new enough', async () => {
  write(PROGRAM, program('20.1.0'), 0o755);
  write('some.mjs', 'console.log(process.version, ...process.argv.slice(2))');
  const ran = await begin({ NODE_ENV: 'production' }, [SCRIPT, 'some.mjs', 'one']).done;
  expect(ran).toMatchObject({
    status: 0,
    said: expect.stringContaining(`does not run on this machine: this one is used, ${process.version}.`),
  });
  expect(ran.said).toContain(`${process.version} one\n`);
  write('scripts/node.json', { version: '99.0.0', archives: '', sha256: {} });
  expect(await run()).toMatchObject({
    status: 1,
    said: expect.stringMatching(
      /Node 99\.0\.0 does not run on this machine .* is v20\.1\.0\..*of your own, 99\.0\.0 or newer/,
    ),
  });
});
