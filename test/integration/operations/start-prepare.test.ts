import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import postgres from 'postgres';
import { prepare, StartError } from '../../../src/operations/cli/start.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import { startEmbeddedPostgres } from '../../../src/platform/db/embedded/index.ts';
import { processStart } from '../../../src/platform/db/embedded/processes.ts';
import { commandsWith } from '../../support/processes/commands-with.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { freePort } from '../../support/wire/ports.ts';
import { settles } from '../../support/wire/settles.ts';

jest.setTimeout(180_000); // each makes a database, some also a process
const root = mkdtempSync(join(tmpdir(), 'rookery-start-'));
chmodSync(root, 0o755);
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const newFolder = () => join(root, `data-${(folders += 1)}`);
const log = { debug() {}, info() {}, warn() {}, error() {} };
const configOf = (more: Record<string, string> = {}) =>
  readConfig({ DATA_FOLDER: newFolder(), PORT: '0', ...more }).config;
const start = (config: ReturnType<typeof configOf>, said: string[] = []) =>
  prepare(config, { log, say: (line) => said.push(line) });
const module = (path: string) => pathToFileURL(join(import.meta.dirname, '../../..', path)).href;

/** A process of its own that starts the embedded database and then waits. */
async function inAnotherProcess(
  folder: string,
): Promise<{ child: ChildProcess; pid: number; url: string; gone: Promise<unknown> }> {
  const script = `import { startEmbeddedPostgres } from '${module('src/platform/db/embedded/index.ts')}';
    const { pid, url } = await startEmbeddedPostgres({ folder: ${JSON.stringify(folder)} });
    console.log(JSON.stringify({ pid, url }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const gone = new Promise((done) => child.once('exit', done));
  const line = await new Promise<string>((done, fail) => {
    child.stdout.once('data', (data: Buffer) => done(data.toString('utf8')));
    child.once('exit', () => fail(new Error('It did not start')));
  });
  return { child, gone, ...(JSON.parse(line) as { pid: number; url: string }) };
}
const inside = async <T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
};

describe('the embedded database', () => {
  test('is created once, keeps its data and listens on loopback only, with a password', async () => {
    const folder = newFolder();
    const lines: string[] = [];
    {
      await using first = await startEmbeddedPostgres({
        folder,
        log: (line) => lines.push(line),
        settings: { work_mem: '5MB' },
      });
      await inside(first.url, async (sql) => {
        await sql`create table kept (text text)`;
        await sql`insert into kept values ('Ä 你好')`;
        expect((await sql`show listen_addresses`)[0]).toEqual({ listen_addresses: '127.0.0.1' });
        expect((await sql`show work_mem`)[0]).toEqual({ work_mem: '5MB' });
      });
      await expect(inside(first.url.replace(/:[^:@/]+@/, ':wrong@'), (sql) => sql`select 1`)).rejects.toMatchObject({
        code: '28P01',
      });
    }
    await using second = await startEmbeddedPostgres({ folder, log: (line) => lines.push(line) });
    expect(await inside(second.url, (sql) => sql`select * from kept`)).toEqual([{ text: 'Ä 你好' }]);
    expect(lines.filter((line) => line.startsWith('Making'))).toHaveLength(1);
  });

  test('takes the given port and says so when it is taken', async () => {
    const port = await freePort();
    {
      await using server = await startEmbeddedPostgres({ folder: newFolder(), port });
      expect([server.port, new URL(server.url).port]).toEqual([port, String(port)]);
    }
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(port, '127.0.0.1', done));
    await expect(startEmbeddedPostgres({ folder: newFolder(), port })).rejects.toThrow(`Port ${port} is taken`);
    taken.close();
  });

  test('is found again after kill -9 of the service: ended by its pid, with its data', async () => {
    const folder = newFolder();
    const first = await inAnotherProcess(folder);
    await inside(first.url, (sql) => sql`create table kept as select 4711 as n`);
    first.child.kill('SIGKILL');
    await first.gone;
    expect(processStart(first.pid)).toBeDefined(); // Postgres itself is still there
    const said: string[] = [];
    await using again = await startEmbeddedPostgres({ folder, log: (line) => said.push(line) });
    expect(said[0]).toContain(`Ending Postgres ${first.pid}`);
    expect(processStart(first.pid)).toBeUndefined();
    expect(await inside(again.url, (sql) => sql`select n from kept`)).toEqual([{ n: 4711 }]);
  });

  test('starts again after kill -9 of both although a pid file names another living process', async () => {
    const folder = newFolder();
    const first = await inAnotherProcess(folder);
    await inside(first.url, (sql) => sql`create table kept as select 1 as n`);
    const pidFile = join(folder, 'data', 'postmaster.pid');
    const lines = readFileSync(pidFile, 'utf8').split('\n');
    process.kill(first.pid, 'SIGKILL');
    first.child.kill('SIGKILL');
    await first.gone;
    writeFileSync(pidFile, [process.pid, ...lines.slice(1)].join('\n')); // the id was given to somebody else meanwhile
    await using again = await startEmbeddedPostgres({ folder });
    expect(await inside(again.url, (sql) => sql`select n from kept`)).toEqual([{ n: 1 }]);
    expect(processStart(process.pid)).toBeDefined();
  });

  test('restarts an interrupted first start from the beginning', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'data.new', 'base'), { recursive: true });
    writeFileSync(join(folder, 'data.new', 'PG_VERSION'), '18\n');
    await using server = await startEmbeddedPostgres({ folder });
    expect(await inside(server.url, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    expect(existsSync(join(folder, 'data.new'))).toBe(false);
  });

  test('refuses a folder in use by a living process, which keeps running', async () => {
    const folder = newFolder();
    const first = await inAnotherProcess(folder);
    await expect(startEmbeddedPostgres({ folder })).rejects.toMatchObject({
      name: 'HeldError',
      holder: { pid: first.child.pid },
    });
    expect(await inside(first.url, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    first.child.kill('SIGTERM');
    await first.gone;
    process.kill(first.pid, 'SIGINT');
    await settles(() => expect(processStart(first.pid)).toBeUndefined()); // its files are removed at the end
  });

  test('is restarted on its port and with its data each time its server dies; the folder stays locked', async () => {
    const folder = newFolder();
    const warned: string[] = [];
    const killed: number[] = [];
    const server = await startEmbeddedPostgres({ folder, revive: true, warn: (line) => warned.push(line) });
    await inside(server.url, (sql) => sql`create table kept as select 0 as n`);
    for (const signal of ['SIGKILL', 'SIGQUIT'] as const) {
      killed.push(server.pid);
      process.kill(server.pid, signal);
      await settles(() => expect(killed).not.toContain(server.pid), 60_000);
      await settles(() => inside(server.url, (sql) => sql`insert into kept values (${killed.length})`));
    }
    expect(await inside(server.url, (sql) => sql`select n from kept order by n`)).toEqual([
      { n: 0 },
      { n: 1 },
      { n: 2 },
    ]);
    expect(warned.filter((line) => /ended by itself/.test(line))).toHaveLength(2);
    await expect(startEmbeddedPostgres({ folder })).rejects.toMatchObject({ name: 'HeldError' });
    await server[Symbol.asyncDispose]();
    for (const pid of [...killed, server.pid]) expect(processStart(pid)).toBeUndefined();
  });

  test('an exit in the middle of a start ends what it had started', async () => {
    const folder = newFolder();
    await exitsAt(folder, 'data.new/PG_VERSION');
    expect(readdirSync(join(folder, 'data.new'))).toEqual([]); // as initdb leaves it when it is ended
    await exitsAt(folder, 'data/postmaster.pid');
    await using server = await startEmbeddedPostgres({ folder });
    expect(await inside(server.url, (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test('leaves no server behind when it dies while its service ends', async () => {
    // which nobody else takes when it has ended
    const server = await startEmbeddedPostgres({ folder: newFolder(), port: await freePort(), revive: true });
    process.kill(server.pid, 'SIGKILL');
    await settles(() => expect(processStart(server.pid)).toBeUndefined());
    await server[Symbol.asyncDispose]();
    expect(processStart(server.pid)).toBeUndefined();
    await expect(inside(server.url, (sql) => sql`select 1`)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

/** A start in a process of its own, which exits as soon as the file is there. */
async function exitsAt(folder: string, file: string): Promise<void> {
  const script = `import { existsSync } from 'node:fs';
    import { startEmbeddedPostgres } from '${module('src/platform/db/embedded/index.ts')}';
    startEmbeddedPostgres({ folder: ${JSON.stringify(folder)} });
    const look = () => (existsSync(${JSON.stringify(join(folder, file))}) ? process.exit(0) : setImmediate(look));
    look();`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  expect(await new Promise((done) => child.once('exit', done))).toBe(0);
  await eventually('nothing runs in its folder', () => commandsWith(folder).length === 0);
}

describe('the preparation of a start', () => {
  test('finds a free port, migrates the database and prints a banner with the addresses', async () => {
    const said: string[] = [];
    const config = configOf();
    await using prepared = await start(config, said);
    const { http, database } = prepared.config;
    expect(http.port).toBeGreaterThan(0);
    expect([http.backendUrl, http.frontendUrl, http.internalUrl]).toEqual(
      Array(3).fill(`http://127.0.0.1:${http.port}`),
    );
    expect(
      (await inside(database.url!, (sql) => sql`select count(*)::int as n from migrations`))[0]!['n'],
    ).toBeGreaterThan(0);
    expect(said).toEqual(['Making a new database (once, a few seconds) …']);
    const text = await prepared.listening();
    for (const part of [
      `http://127.0.0.1:${http.port}`,
      'embedded',
      'Postgres of npm',
      database.dataFolder,
      'sandbox',
      '127.0.0.1/32',
      'npm run demo',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain(new URL(database.url!).password);
    expect(config.database.url).toBeUndefined();
  });

  test('makes a data folder private to its owner, traversable by the user of Postgres when that is another', async () => {
    const config = configOf({ JWT_SECRET: 'x'.repeat(32), DATA_FOLDER: join(newFolder(), 'data') });
    await using _prepared = await start(config);
    for (const folder of [config.database.dataFolder, join(config.database.dataFolder, 'postgres')])
      expect(statSync(folder).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
    expect(existsSync(join(config.database.dataFolder, 'postgres', 'data'))).toBe(true);
  });

  test('tells a second start which process runs and where', async () => {
    const config = configOf();
    await using prepared = await start(config);
    await prepared.listening();
    const refused = await start(config).catch((error: unknown) => error as StartError);
    expect(refused).toBeInstanceOf(StartError);
    expect((refused as StartError).message).toMatch(
      new RegExp(`process ${process.pid} at http://127.0.0.1:${prepared.config.http.port}`),
    );
    expect((refused as StartError).message).toContain('DATA_FOLDER=');
  });

  test.each(['', 'data'])('names the setting of a data folder that is a file, or below one (%p)', async (below) => {
    const file = newFolder();
    writeFileSync(file, '');
    const refused = await start(configOf({ JWT_SECRET: 'x'.repeat(32), DATA_FOLDER: join(file, below) })).catch(
      (error: unknown) => error as StartError,
    );
    expect(refused).toBeInstanceOf(StartError);
    expect((refused as StartError).message).toMatch(/^The data folder .*data-.* cannot be used \(E.*DATA_FOLDER/);
  });

  test('names the setting of a taken port before anything is started', async () => {
    const taken = createServer();
    const port = await new Promise<number>((done) =>
      taken.listen(0, '127.0.0.1', () => done((taken.address() as { port: number }).port)),
    );
    const config = configOf({ PORT: String(port) });
    await expect(start(config)).rejects.toThrow(`Port ${port} is taken on 127.0.0.1. Set PORT`);
    expect(existsSync(join(config.database.dataFolder, 'postgres'))).toBe(false);
    expect(existsSync(join(config.database.dataFolder, 'running.json'))).toBe(false);
    taken.close();
  });

  test('names the setting of an address that this machine does not have', async () => {
    await expect(start(configOf({ BACKEND_LISTEN_HOST: '192.0.2.1', PORT: String(await freePort()) }))).rejects.toThrow(
      'BACKEND_LISTEN_HOST',
    );
  });

  test('names a database that is missing or refuses, without its password', async () => {
    const port = await freePort();
    const away = await start(configOf({ DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${port}/x` })).catch(
      (error: unknown) => error as StartError,
    );
    expect(away).toBeInstanceOf(StartError);
    expect((away as StartError).message).toMatch(new RegExp(`127.0.0.1:${port}/x.*DATABASE_URL`));
    expect((away as StartError).message).not.toContain('hunter2');
    const wrong = Object.assign(new URL(process.env['TEST_DATABASE_URL']!), { password: 'hunter2' }).href;
    await expect(start(configOf({ DATABASE_URL: wrong }))).rejects.toThrow('Check DATABASE_URL');
  });

  test('starts nothing embedded in production', async () => {
    const config = { ...configOf(), production: true };
    await expect(start(config)).rejects.toThrow('DATABASE_URL is missing');
    expect(existsSync(join(config.database.dataFolder, 'postgres'))).toBe(false);
  });

  test('lets several replicas migrate one external database side by side', async () => {
    const folder = newFolder();
    await using server = await startEmbeddedPostgres({ folder });
    const config = configOf({ DATABASE_URL: server.url });
    const all = await Promise.all([1, 2, 3].map(() => prepare(config, { log, say() {}, alone: false })));
    for (const one of all) await one[Symbol.asyncDispose]();
  });
});

describe('as root, and as a normal user', () => {
  const asRoot = process.getuid?.() === 0;
  beforeAll(() => {
    if (!asRoot) process.stderr.write('not root: the part about another user is left out\n');
  });

  // only root can start a server as somebody else
  (asRoot ? test : test.skip)(
    'runs as a system user of its own, and as the creating user where a normal user created it',
    async () => {
      const folder = newFolder();
      mkdirSync(folder, { mode: 0o755 });
      const daemon = Number(execFileSync('id', ['-u', 'daemon'], { encoding: 'utf8' }));
      const script = `import { startEmbeddedPostgres } from '${module('src/platform/db/embedded/index.ts')}';
      await using server = await startEmbeddedPostgres({ folder: ${JSON.stringify(folder)} });
      console.log(server.pid);`;
      const { chownSync } = await import('node:fs');
      chownSync(folder, daemon, daemon);
      const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
        uid: daemon,
        gid: daemon,
        cwd: '/',
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { PATH: process.env['PATH'] },
      });
      expect(await new Promise((done) => child.once('exit', done))).toBe(0);
      expect(statSync(join(folder, 'data')).uid).toBe(daemon);
      await using server = await startEmbeddedPostgres({ folder });
      expect(statSync(`/proc/${server.pid}`).uid).toBe(daemon);
      await using fresh = await startEmbeddedPostgres({ folder: newFolder() });
      expect(statSync(`/proc/${fresh.pid}`).uid).not.toBe(0);
    },
  );
});
