import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPorts } from '../../../dapr/ports.ts';
import { ask } from '../../../dapr/processes.ts';
import { holdDatabase } from '../../../src/platform/actor-runtime/index.ts';
import { runningAddress } from '../../../src/operations/cli/running.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { freePorts } from '../../support/wire/ports.ts';
import { commandLine, isRunning, type ProcessMark } from '../../../src/platform/db/embedded/processes.ts';
import { describeDapr } from '../../support/processes/describe-dapr.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

const redisUrl = process.env['TEST_REDIS_URL'];

describeDapr('npm run cluster', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  const folder = mkdtempSync(join(tmpdir(), 'rookery-cluster-'));
  const cleanUp: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterEach(async () => {
    for (const clean of cleanUp.splice(0)) await clean();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await database[Symbol.asyncDispose]();
  });

  async function cluster(more: Record<string, string> = {}) {
    const [port] = (await freePorts(1)) as [number];
    const child = spawn(process.execPath, ['dapr/cluster.ts'], {
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        NODE_ENV: 'development',
        DATA_FOLDER: folder,
        DATABASE_URL: database.url,
        PORT: `${port}`,
        ...(redisUrl && { REDIS_URL: redisUrl }),
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => void (said += text));
    const exited = new Promise<number | null>((done) => child.once('close', done)); // after its last word
    cleanUp.push(async () => {
      child.kill('SIGTERM');
      await exited;
    });
    return {
      child,
      exited,
      address: `http://127.0.0.1:${port}`,
      said: () => said,
      serves: () =>
        eventually(
          'the cluster serves',
          () => {
            if (child.exitCode !== null) throw new Error(`The cluster ended: ${said}`);
            return said.includes('Rookery serves at');
          },
          90_000,
        ),
      children: () =>
        (JSON.parse(readFileSync(join(folder, 'cluster', 'running.json'), 'utf8')) as { children: ProcessMark[] })
          .children,
    };
  }

  test('starts, lists the hosts with their actors, survives the death of a host, and ends everything on SIGTERM', async () => {
    const taken = createServer();
    // taken by us, or by somebody else
    await new Promise<void>((done) => void taken.once('error', () => done()).listen(6_005, '127.0.0.1', done));
    cleanUp.push(() => new Promise((done) => void taken.close(done)));
    const { child, exited, address, said, serves, children } = await cluster();
    await serves();
    expect(said()).toMatch(/moved by \d+/);
    expect(said()).toMatch(
      /host-1 +rookery +\d+ .*Channel, Organization, Post, Webhook\n +host-2 .*Channel, Organization, Post, Webhook\n +api +rookery-api .*nothing/,
    );
    expect((await ask(`${address}/health/ready`)).status).toBe(200);
    expect(await runningAddress(folder)).toBe(address); // for the demo
    // two sidecars that open the state store of an empty database at once both make its tables, and one fails
    const logOf = (name: string) => readFileSync(join(folder, 'cluster', 'logs', `${name}-daprd.log`), 'utf8');
    const opened = /time="([^"]+)" [^\n]*Component loaded: state /.exec(logOf('host-1'))![1]!;
    expect(/time="([^"]+)"/.exec(logOf('host-2'))![1]! > opened).toBe(true);

    const second = Number(/host-2 +rookery +(\d+)/.exec(said())![1]);
    process.kill(second, 'SIGKILL');
    await eventually('the loss is said', () => said().includes('host-1 takes over the actors of host-2'), 60_000);
    expect(said()).toMatch(/host-2 ended by SIGKILL and is not started again/);
    expect((await ask(`${address}/health/ready`)).status).toBe(200);

    const all = children();
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    expect(all.filter(isRunning)).toEqual([]);
    expect(said().trimEnd()).toMatch(/ended$/);
  }, 180_000);

  test('refuses a second start in the same folder; the start after `kill -9` ends only what the first one left', async () => {
    const first = await cluster();
    await first.serves();
    const refused = await cluster();
    expect(await refused.exited).toBe(1);
    expect(refused.said()).toMatch(/A cluster runs already with the folder/);

    const left = first.children();
    for (const { pid } of left) process.kill(pid, 'SIGSTOP'); // else some end by themselves, of writing to nobody
    cleanUp.push(async () => {
      for (const { pid } of left.filter(isRunning)) process.kill(pid, 'SIGKILL');
    });
    first.child.kill('SIGKILL');
    await first.exited;
    expect(left.filter(isRunning)).toEqual(left);
    expect(left.length).toBeGreaterThan(4);
    const next = await cluster();
    await next.serves();
    expect(next.said()).toMatch(/ending \d+ processes of a cluster that was killed/);
    expect(left.filter(isRunning)).toEqual([]);
    next.child.kill('SIGTERM');
    expect(await next.exited).toBe(0);
  }, 240_000);

  test('ends when a required process dies', async () => {
    const { exited, said, serves, children } = await cluster();
    await serves();
    const [placement] = children().slice(redisUrl ? 0 : 1);
    process.kill(placement!.pid, 'SIGKILL');
    expect(await exited).toBe(1);
    expect(said()).toMatch(/placement ended by SIGKILL; its log is .*placement\.log: ending/);
    expect(children).toThrow();
  }, 180_000);

  test('starts its own Redis with a password and serves with it, and gives each sidecar the components of DAPR_RESOURCES', async () => {
    const { address, serves, children } = await cluster({
      REDIS_URL: '',
      DAPR_RESOURCES: 'examples/dapr-application/components',
      DAPR_EVENTS_PUBSUB: 'events',
    });
    await serves();
    for (const name of ['host-1', 'host-2', 'api'])
      expect(readFileSync(join(folder, 'cluster', 'logs', `${name}-daprd.log`), 'utf8')).toMatch(
        /Component loaded: events \(pubsub\.redis/,
      );
    expect((await ask(`${address}/health/ready`)).status).toBe(200);
    // Redis shows it in place of its arguments
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(commandLine(children()[0]!.pid))![1]);
    const answer = await new Promise<string>((done, fail) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('KEYS *\r\n'));
      socket.once('data', (data) => {
        socket.destroy();
        done(data.toString());
      });
      socket.once('error', fail);
    });
    expect(answer).toMatch(/^-NOAUTH/);
    const file = join(folder, 'cluster', 'redis', 'redis.conf');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }, 180_000);

  test('prints the last output of a host that ends before the cluster serves', async () => {
    await using _hold = await holdDatabase({
      sql: database.sql,
      mode: 'exclusive',
      clock: systemClock,
      log: quietLog(),
    });
    const { exited, said } = await cluster();
    expect(await exited).toBe(1);
    expect(said()).toMatch(
      /ended \(with code 1\) before the cluster serves; the end of .*\.log:\n(.*\n)*.*embedded engine works on this database/,
    );
    expect(said()).not.toMatch(/Rookery serves at|takes over/);
  }, 180_000);

  test('names the remedy in one sentence where there is no Redis', async () => {
    const { exited, said } = await cluster({ REDIS_URL: '', PATH: '/nowhere' });
    expect(await exited).toBe(1);
    expect(said()).toMatch(/set REDIS_URL, or install redis-server/);
  }, 60_000);

  test('moves the whole block of ports when one is taken', async () => {
    const first = await findPorts(2);
    const taken = createServer();
    await new Promise<void>(
      (done) => void taken.once('error', () => done()).listen(first.hosts[1]!.grpc, '127.0.0.1', done),
    ); // taken by us, or by somebody else
    cleanUp.push(() => new Promise((done) => void taken.close(done)));
    const second = await findPorts(2);
    expect(second.step).toBeGreaterThan(first.step);
    expect(second.hosts[1]!.grpc - first.hosts[1]!.grpc).toBe(second.step - first.step);
    const numbers = [second.placement, second.scheduler, ...second.hosts, second.api].flatMap((ports) =>
      Object.values(ports),
    );
    expect(new Set(numbers).size).toBe(numbers.length);
  });
});
