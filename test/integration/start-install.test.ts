import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';

// The prestep on a small project whose packages lie beside it, so that the real npm installs them without any network.

jest.setTimeout(180_000); // npm runs several times in a test
const base = mkdtempSync(join(tmpdir(), 'rookery-install-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const SCRIPT = join(import.meta.dirname, '../../scripts/install.mjs');
let project = '';
let projects = 0;

const write = (path: string, content: string | object, mode = 0o644) => {
  mkdirSync(join(project, path, '..'), { recursive: true });
  writeFileSync(join(project, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  chmodSync(join(project, path), mode);
};
const pack = (name: string, more: object = {}) => write(`packages/${name}/package.json`, { name, version: '1.0.0', ...more });
const lock = () =>
  execFileSync('npm', ['install', '--package-lock-only', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: project,
    stdio: 'pipe',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
const depend = (...names: string[]) => {
  write('package.json', { name: 'small', version: '1.0.0', dependencies: Object.fromEntries(names.map((name) => [name, `file:packages/${name}`])) });
  lock();
};

beforeEach(() => {
  project = join(base, `project-${(projects += 1)}`);
  write('packages/node/bin.js', '#!/bin/sh\necho v24.0.0\n', 0o755);
  pack('node', { bin: { node: 'bin.js' } });
  pack('other');
  depend('node');
});

interface Run {
  status: number | null;
  said: string;
}
function begin(env: Record<string, string> = {}): { child: ChildProcess; said: () => string; done: Promise<Run> } {
  const child = spawn(process.execPath, [SCRIPT], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', npm_execpath: '', npm_config_offline: 'true', ROOKERY_INSTALL_ROOT: project, ...env },
  });
  let said = '';
  child.stdout!.on('data', (data) => (said += data));
  child.stderr!.on('data', (data) => (said += data));
  return { child, said: () => said, done: new Promise((done) => child.once('close', (status) => done({ status, said }))) };
}
const run = (env: Record<string, string> = {}) => begin(env).done;
/** Counts how often npm was asked, waits until it is let go (or whoever asked is gone), and leaves the work to the real one. */
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

describe('the prestep', () => {
  test('installs, says so, and has no word and no npm at the second time', async () => {
    const first = await run({ NODE_ENV: 'production' });
    expect(first).toMatchObject({ status: 0, said: expect.stringMatching(/^Installing .*\nInstalled in \d+ s\.\n$/) });
    expect(existsSync(join(project, 'node_modules/node'))).toBe(true);
    expect(await run({ PATH: '/nowhere', npm_execpath: '/nowhere/npm.js' })).toEqual({ status: 0, said: '' });
  });

  test('installs again when the lockfile names something else', async () => {
    await run();
    depend('node', 'other');
    expect((await run()).said).toContain('Installed');
    expect(existsSync(join(project, 'node_modules/other'))).toBe(true);
  });

  test('takes over what npm itself has installed whole, and not what lacks a package', async () => {
    depend('node', 'other');
    execFileSync('npm', ['ci', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: project,
      stdio: 'pipe',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(await run({ PATH: process.env['PATH']!, npm_execpath: '/nowhere/npm.js' })).toEqual({ status: 0, said: '' });
    rmSync(join(project, 'node_modules/.rookery-install'));
    pack('third');
    depend('node', 'other', 'third');
    expect((await run()).said).toContain('Installed');
    expect(existsSync(join(project, 'node_modules/third'))).toBe(true);
  });

  test('a lockfile without an optional package that the registry did not have is installed all the same, and stays as it is', async () => {
    pack('other', { optionalDependencies: { 'absent-on-this-platform': '1.0.0' } });
    depend('node', 'other');
    const locked = readFileSync(join(project, 'package-lock.json'), 'utf8');
    expect(locked).not.toContain('node_modules/absent-on-this-platform');
    expect((await run()).said).toContain('Installed');
    expect(existsSync(join(project, 'node_modules/other'))).toBe(true);
    expect(readFileSync(join(project, 'package-lock.json'), 'utf8')).toBe(locked);
  });

  test('a lockfile that was made for another package.json is refused', async () => {
    write('package.json', { name: 'small', version: '1.0.0', dependencies: { node: 'file:packages/node', other: 'file:packages/other' } });
    expect(await run()).toMatchObject({ status: 1, said: expect.stringContaining('does not fit package.json') });
  });

  test('two at a time: one installs, the other waits for it and has nothing to do', async () => {
    const npm = heldNpm();
    const both = [begin(npm), begin(npm)];
    await eventually('one waits for the other', () => both.some(({ said }) => said().includes('waiting')));
    letNpmGo();
    const [one, two] = (await Promise.all(both.map(({ done }) => done))) as [Run, Run];
    expect([one.status, two.status, asked()]).toEqual([0, 0, 1]);
    expect([one.said, two.said].filter((said) => said.includes('waiting'))).toHaveLength(1);
    expect(existsSync(join(project, '.cache/install.lock'))).toBe(false);
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)('cut by %s it begins again the next time', async (signal) => {
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

  test('a lock that a dead process left holds nobody up', async () => {
    const gone = spawn('true');
    await new Promise((done) => gone.once('exit', done));
    write('.cache/install.lock', String(gone.pid));
    const { status, said } = await run();
    expect([status, said.includes('waiting')]).toEqual([0, false]);
  });

  test('says what to do when npm fails, and when Node 24 did not arrive', async () => {
    const locked = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as { packages: Record<string, object> };
    const absent = { version: '1.0.0', resolved: 'https://packages.invalid/absent-1.0.0.tgz', integrity: `sha512-${Buffer.alloc(64).toString('base64')}` };
    write('package.json', { name: 'small', version: '1.0.0', dependencies: { node: 'file:packages/node', absent: '1.0.0' } });
    locked.packages = {
      ...locked.packages,
      '': { name: 'small', version: '1.0.0', dependencies: { node: 'file:packages/node', absent: '1.0.0' } },
      'node_modules/absent': absent,
    };
    write('package-lock.json', locked);
    const failed = await run();
    expect(failed.status).not.toBe(0);
    expect(failed.said).toContain('Run it again');
    depend('node');
    write('packages/node/bin.js', '#!/bin/sh\necho v20.1.0\n', 0o755);
    const old = await run();
    expect(old).toMatchObject({ status: 1, said: expect.stringContaining('npm rebuild node') });
  });
});
