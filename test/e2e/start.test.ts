import { afterAll, afterEach, describe, expect, jest, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../../src/operations/cli/call.ts';
import { processStart } from '../../src/platform/db/embedded/processes.ts';
import { commandsWith } from '../support/processes/commands-with.ts';
import { inherited } from '../support/processes/scripts/rookery-process.ts';
import { eventually } from '../support/wire/eventually.ts';
import { freePort } from '../support/wire/ports.ts';

// `node rookery.ts start` as a person runs it: processes, signals, and what they print.

const ROOT = join(import.meta.dirname, '../..');
// a new database, processes that start one after another: on a busy machine each takes its time
jest.setTimeout(240_000);
const folders: string[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((done) => {
        child.once('exit', done);
        child.kill('SIGTERM');
      });
});
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-e2e-'));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return join(folder, '.data');
};
/** The folder of all starts, empty for the first: making a database takes longer than what the others are about. */
const usedFolder = newFolder();
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Of the direct dependencies those that are loaded by a start; each is small, or nothing is served without it. */
const ALWAYS_LOADED = [
  '@block65/webcrypto-web-push',
  '@noble/curves',
  '@opentelemetry/api',
  '@scure/base',
  'aws4fetch',
  'busboy',
  'express',
  'file-type',
  'htmlparser2',
  'jose',
  'pino',
  'postgres',
  'prom-client',
  'temporal-polyfill',
  'undici',
  'zod',
];

interface Service {
  child: ChildProcess;
  said: () => string;
  ended: Promise<{ code: number | null; signal: string | null }>;
  ready: () => Promise<string>;
}
function run(command: string, args: readonly string[], env: Record<string, string>): Service {
  const child = spawn(process.execPath, ['--no-warnings', 'rookery.ts', command, ...args], {
    cwd: ROOT,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  child.stdout!.on('data', (data) => (output += data));
  child.stderr!.on('data', (data) => (output += data));
  const ended = new Promise<{ code: number | null; signal: string | null }>((done) =>
    child.once('close', (code, signal) => done({ code, signal })),
  );
  return {
    child,
    ended,
    said: () => output,
    async ready() {
      for (;;) {
        const address = /is ready\.[^]*address\s+(\S+)/.exec(output)?.[1];
        if (address) return address;
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`It ended before it was ready:\n${output}`);
        await sleep(50);
      }
    },
  };
}
const start = (dataFolder: string, env: Record<string, string> = {}) =>
  run('start', [], { DATA_FOLDER: dataFolder, PORT: '0', ...env });
const postgresOf = (dataFolder: string) =>
  Number(readFileSync(join(dataFolder, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
/** Undefined while none has written its number down. */
function postgresNow(dataFolder: string): number | undefined {
  try {
    return postgresOf(dataFolder);
  } catch {
    return undefined;
  }
}
const status = (url: string) =>
  call('GET', url, { timeoutMs: 5_000 }).then(
    (answer) => answer.status,
    () => 0,
  );

describe('npm start', () => {
  test('serves from an empty folder and prints its address, engine and next step; the demo does the main job', async () => {
    const dataFolder = usedFolder; // nobody has used it yet
    const service = start(dataFolder);
    const address = await service.ready();
    for (const part of ['embedded', 'Postgres of npm', dataFolder, 'npm run demo'])
      expect(service.said()).toContain(part);
    expect(await status(`${address}/health/ready`)).toBe(200);

    const demo = run('demo', [], { DATA_FOLDER: dataFolder });
    expect({ ...(await demo.ended), said: demo.said() }).toMatchObject({
      code: 0,
      said: expect.stringMatching(
        /signed up[^]*API key[^]*channel[^]*webhook[^]*scheduled[^]*published[^]*webhook received[^]*webhook-signature[^]*X-Service-Signature, with the secret of the deployment[^]*All of it worked/,
      ),
    });
    const again = run('demo', [address], { DATA_FOLDER: dataFolder });
    expect({ ...(await again.ended), said: again.said() }).toMatchObject({
      code: 0,
      said: expect.stringMatching(/logged in[^]*found the channel/),
    });
  });

  test.each(['Making', 'was migrated'])(
    'SIGTERM during the start, after it said %j, ends what had begun and nothing else is said [BO5]',
    async (words) => {
      const folder = newFolder();
      const service = start(folder);
      await eventually(`it says ${words}`, () => service.said().includes(words), 60_000);
      service.child.kill('SIGTERM');
      expect(await service.ended).toEqual({ code: 0, signal: null });
      expect(service.said()).not.toMatch(/is ready|rror|\n +at /);
      // an end in the middle of the start does not wait for Postgres to follow
      await eventually('nothing runs in its folder', () => commandsWith(folder).length === 0, 60_000);
    },
  );

  test('a second start in the same folder names the running process and changes nothing', async () => {
    const dataFolder = usedFolder;
    const service = start(dataFolder);
    const address = await service.ready();
    const second = start(dataFolder);
    expect((await second.ended).code).toBe(1);
    expect(second.said()).toContain(`process ${service.child.pid} at ${address}`);
    expect(await status(`${address}/health/ready`)).toBe(200);
  });

  test('a taken port is named with its setting', async () => {
    const taken = createServer();
    const port = await new Promise<number>((done) =>
      taken.listen(0, '127.0.0.1', () => done((taken.address() as { port: number }).port)),
    );
    const service = start(usedFolder, { PORT: String(port) });
    expect((await service.ended).code).toBe(1);
    expect(service.said()).toContain(`Port ${port} is taken`);
    expect(service.said()).toContain('Set PORT');
    taken.close();
  });

  test('the process continues when nobody reads its log', async () => {
    const service = start(usedFolder);
    const address = await service.ready();
    service.child.stdout!.destroy();
    service.child.stderr!.destroy();
    for (let n = 0; n < 5; n++) expect(await status(`${address}/nothing`)).toBe(404); // each is a line of the log
    expect(await status(`${address}/health/ready`)).toBe(200);
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual({ code: 0, signal: null });
  });

  test('loads at its start what it always needs, and no other library', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'rookery-loaded-')), 'packages');
    folders.push(join(file, '..'));
    const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object };
    const loaded = () => {
      const names = readFileSync(file, 'utf8').split('\n');
      return Object.keys(own.dependencies).filter((name) => names.includes(name));
    };
    const recorder = join(ROOT, 'test/support/processes/loaded-packages.mjs');
    const service = start(usedFolder, { NODE_OPTIONS: `--import=${recorder}`, LOADED_PACKAGES: file });
    await service.ready();
    expect(loaded()).toEqual(ALWAYS_LOADED);
  });

  test('the process is ready again after its own Postgres was killed', async () => {
    const dataFolder = usedFolder;
    const service = start(dataFolder);
    const url = await service.ready();
    expect(await status(`${url}/health/ready`)).toBe(200);
    const killed = postgresOf(dataFolder);
    process.kill(killed, 'SIGKILL');
    await eventually('another Postgres runs', () => ![undefined, killed].includes(postgresNow(dataFolder)), 90_000);
    await eventually('the service is ready', async () => (await status(`${url}/health/ready`)) === 200, 90_000);
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual({ code: 0, signal: null });
  });

  test('the process starts again on the same data after kill -9', async () => {
    const dataFolder = usedFolder;
    const port = String(await freePort());
    const first = start(dataFolder, { PORT: port });
    const address = await first.ready();
    const account = { provider: 'LOCAL', email: 'ann@example.com', password: 'correct horse battery' };
    expect((await call('POST', `${address}/auth/register`, { body: { ...account, company: 'Acme' } })).status).toBe(
      200,
    );
    const orphan = postgresOf(dataFolder);
    first.child.kill('SIGKILL');
    await first.ended;
    expect(processStart(orphan)).toBeDefined();

    const second = start(dataFolder, { PORT: port });
    expect(await second.ready()).toBe(address);
    expect(processStart(orphan)).toBeUndefined();
    expect((await call('POST', `${address}/auth/login`, { body: account })).status).toBe(200);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s stops accepting work, closes database and cache, and exits once, also on a second signal [BO5, BO6]',
    async (signal) => {
      const dataFolder = usedFolder;
      const redis = process.env['TEST_REDIS_URL'];
      // a port that nobody else takes when it has ended
      const service = start(dataFolder, { PORT: String(await freePort()), ...(redis && { REDIS_URL: redis }) });
      const address = await service.ready();
      const postgres = postgresOf(dataFolder);
      service.child.kill(signal);
      service.child.kill(signal);
      expect(await service.ended).toEqual({ code: 0, signal: null });
      expect(await status(`${address}/health/live`)).toBe(0);
      expect(processStart(postgres)).toBeUndefined();
      expect(service.said().match(/: ending …/g)).toHaveLength(1);
    },
  );
});

describe('npm start in production', () => {
  const whole = {
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://u:p@127.0.0.1:9/x',
    REDIS_URL: 'redis://127.0.0.1:9',
    JWT_SECRET: '82ba6191e771227b1c69714744981969',
    IS_GENERAL: 'true',
    BACKEND_LISTEN_HOST: '127.0.0.1',
    FRONTEND_URL: 'https://app.example.com',
    NEXT_PUBLIC_BACKEND_URL: 'https://app.example.com/api',
    BACKEND_INTERNAL_URL: 'http://127.0.0.1:3000',
  };

  test('refuses the start and names every missing setting at once [BO7, BO9, BO10]', async () => {
    const service = start(newFolder(), { NODE_ENV: 'production' });
    expect((await service.ended).code).toBe(1);
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'JWT_SECRET', 'FRONTEND_URL', 'NEXT_PUBLIC_BACKEND_URL'])
      expect(service.said()).toContain(name);
  });

  test.each([
    ['a JWT_SECRET of 31 characters', { JWT_SECRET: 'x'.repeat(31) }, 'JWT_SECRET'],
    ['a placeholder as JWT_SECRET', { JWT_SECRET: 'your-super-secret-jwt-key-change-this' }, 'JWT_SECRET'],
    ['NOT_SECURED where others can come', { NOT_SECURED: 'true' }, 'NOT_SECURED'],
    ['missing keys of the job runner', { USE_INNGEST: 'true' }, 'INNGEST_SIGNING_KEY'],
    [
      'billing without the secret keys of its processor',
      { PAYMENTS_PUBLISHABLE_KEY: 'pk_1' },
      'PAYMENTS_PUBLISHABLE_KEY',
    ],
  ])('refuses the start for %s [BO8, BO11]', async (_, more, named) => {
    const service = start(newFolder(), { ...whole, ...more });
    expect((await service.ended).code).toBe(1);
    expect(service.said()).toContain(named);
    expect(service.said()).toContain('does not start');
  });

  test('ends the start with the address of an unreachable database, and starts nothing embedded', async () => {
    const service = start(newFolder(), whole);
    expect((await service.ended).code).toBe(1);
    expect(service.said()).toMatch(/127\.0\.0\.1:9\/x.*DATABASE_URL/);
  });
});
