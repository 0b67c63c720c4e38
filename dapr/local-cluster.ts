import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_FOLDER_MODE } from '../src/platform/config/index.ts';
import { startEmbeddedPostgres } from '../src/platform/db/embedded/index.ts';
import { migrate, openDatabase } from '../src/platform/db/index.ts';
import {
  HeldError,
  holdFile,
  isRunning,
  markOf,
  type ProcessMark,
  readHolder,
} from '../src/platform/db/embedded/processes.ts';
import { installDapr, type Environment, type Say } from './install/index.ts';
import { type ClusterPorts, findPorts } from './ports.ts';
import {
  API_APP_ID,
  APP_ID,
  ask,
  describeExit,
  endOfLog,
  type Running,
  startPlacement,
  startProcess,
  startScheduler,
  startSidecar,
  waitUntil,
} from './processes.ts';
import { startRedis } from './redis.ts';

const HOSTS = 2;
const ENTRY = 'rookery.ts';
const HOST_COMMAND = 'actors';
const API_COMMAND = 'api';
const READY_MS = 90_000;

export interface ClusterOptions {
  environment: Environment;
  say: Say;
  signal: AbortSignal;
}
export interface LocalCluster extends AsyncDisposable {
  readonly address: string;
  /** Ends when the cluster cannot serve any more, with the reason. */
  readonly failed: Promise<string>;
  /** What a person reads once it serves. */
  describe(): Promise<string>;
}

interface Member {
  name: string;
  app: Running;
  sidecar: Running;
  appId: string;
  ports: ClusterPorts['api'];
}
interface Table {
  tables?: Record<string, { hosts?: readonly { name: string; id: string; entities?: readonly string[] }[] }>;
}

/**
 * What an earlier cluster of this folder left behind when it was killed: ended by id, and only where id and start are
 * the same.
 */
async function endLeftOvers(file: string, say: Say): Promise<void> {
  const holder = await readHolder(file);
  if (!holder || isRunning(holder)) return;
  const left = ((holder['children'] ?? []) as readonly ProcessMark[]).filter(isRunning);
  if (left.length === 0) return;
  say(`ending ${left.length} processes of a cluster that was killed (${left.map(({ pid }) => pid).join(', ')})`);
  for (const { pid } of left) process.kill(-pid, 'SIGKILL');
  await waitUntil('they are gone', async () => !left.some(isRunning), { ms: 10_000 });
}

/**
 * Starts placement, scheduler, two actor hosts and an API, each with its daprd, on 127.0.0.1. Resolves when it can
 * serve.
 */
export async function startLocalCluster({ environment, say, signal }: ClusterOptions): Promise<LocalCluster> {
  await using begun = new AsyncDisposableStack();
  const data = environment['DATA_FOLDER'] || '.data';
  const folder = join(data, 'cluster');
  await mkdir(data, { recursive: true, mode: DATA_FOLDER_MODE });
  await mkdir(folder, { recursive: true });
  const mark = join(folder, 'running.json');
  await endLeftOvers(mark, say);
  const hold = begun.use(
    await holdFile(mark).catch((error: unknown) => {
      throw error instanceof HeldError
        ? new Error(
            `A cluster runs already with the folder ${folder}: process ${error.holder.pid}. End it, or let DATA_FOLDER name another folder.`,
            {
              cause: error,
            },
          )
        : error;
    }),
  );
  const children: ProcessMark[] = [];
  const note = async (running: Running): Promise<Running> => {
    children.push(markOf(running.pid));
    await hold.update({ children });
    return running;
  };
  const log = (name: string) => join(folder, 'logs', `${name}.log`);

  const { from, programs } = await installDapr({ environment, say, signal });
  say(`Dapr from ${from}`);
  const ports = await findPorts(HOSTS);
  if (ports.step > 0) say(`some ports are taken, all of the cluster are moved by ${ports.step}`);

  const failure = Promise.withResolvers<string>();
  let ending = false;
  let serving = false; // before that, the wait for it says who ended
  /** A program without which nothing is served. */
  const needed = async (running: Running): Promise<Running> => {
    void running.exited.then(
      (how) =>
        void (ending || failure.resolve(`${running.name} ended ${describeExit(how)}; its log is ${running.logFile}`)),
    );
    return note(running);
  };

  let databaseUrl = environment['DATABASE_URL'];
  if (!databaseUrl) {
    const postgres = begun.use(
      await startEmbeddedPostgres({
        folder: join(data, 'postgres'),
        log: (line) => void (/^(Making|Ending)/.test(line) && say(line)),
      }),
    );
    databaseUrl = postgres.url;
  }
  const sql = openDatabase({ url: databaseUrl, connections: 2, applicationName: 'rookery-migrate' });
  try {
    await migrate(sql, { allowDestructive: environment['ALLOW_DESTRUCTIVE_SCHEMA'] === 'true' });
  } finally {
    await sql.end();
  }

  let redisUrl = environment['REDIS_URL'];
  if (!redisUrl) {
    const redis = await startRedis({
      port: ports.redis,
      folder: join(folder, 'redis'),
      logFile: log('redis'),
      environment,
    });
    begun.defer(async () => void (await redis.running.stop(5_000)));
    await needed(redis.running);
    redisUrl = redis.url;
  }
  signal.throwIfAborted();

  const placement = await needed(
    startPlacement({ programs, environment, ports: ports.placement, logFile: log('placement') }),
  );
  begun.defer(async () => void (await placement.stop(5_000)));
  const scheduler = await needed(
    startScheduler({
      programs,
      environment,
      ports: ports.scheduler,
      dataFolder: join(folder, 'scheduler'),
      logFile: log('scheduler'),
    }),
  );
  begun.defer(async () => void (await scheduler.stop(10_000)));

  const port = environment['PORT'] || '3000';
  const address = `http://127.0.0.1:${port}`;
  const placementHealthUrl = `http://127.0.0.1:${ports.placement.health}`;
  const tokens = { DAPR_API_TOKEN: randomBytes(24).toString('hex'), APP_API_TOKEN: randomBytes(24).toString('hex') };
  const { METRICS_PORT: _one, ...inherited } = environment; // one port cannot serve several hosts
  const shared = {
    ...inherited,
    ...tokens,
    NAMESPACE: 'default',
    DATA_FOLDER: data,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
  };
  const redis = new URL(redisUrl);
  const start = async (
    name: string,
    command: string,
    appId: string,
    own: ClusterPorts['api'],
    httpPort: string,
  ): Promise<Member> => {
    const app = await note(
      startProcess({
        name,
        command: process.execPath,
        args: [ENTRY, command],
        logFile: log(name),
        environment: {
          NEXT_PUBLIC_BACKEND_URL: address,
          FRONTEND_URL: address,
          ...shared,
          ACTOR_ENGINE: 'dapr',
          BACKEND_LISTEN_HOST: '127.0.0.1',
          PORT: httpPort,
          DAPR_HTTP_PORT: `${own.http}`,
          DAPR_GRPC_PORT: `${own.grpc}`,
          APP_PORT: `${own.app ?? 0}`,
          DAPR_PLACEMENT_HEALTH_URL: placementHealthUrl,
        },
      }),
    );
    const sidecar = await note(
      startSidecar({
        name: `${name}-daprd`,
        programs,
        appId,
        ports: own,
        placement: ports.placement,
        scheduler: ports.scheduler,
        logFile: log(`${name}-daprd`),
        environment: { ...shared, REDIS_HOST: redis.host, REDIS_PASSWORD: decodeURIComponent(redis.password) },
      }),
    );
    return { name, app, sidecar, appId, ports: own };
  };
  const hosts: Member[] = [];
  for (const [n, own] of ports.hosts.entries())
    hosts.push(await start(`host-${n + 1}`, HOST_COMMAND, APP_ID, own, '0'));
  const api = await start('api', API_COMMAND, API_APP_ID, ports.api, port);
  const members = [...hosts, api];

  begun.defer(async () => {
    ending = true;
    // apps first: a sidecar that ends before its app cuts every running turn
    await Promise.all(members.map(({ app }) => app.stop()));
    await Promise.all(members.map(({ sidecar }) => sidecar.stop()));
  });
  for (const member of members) watch(member);

  /** A half without its other half is worse than none: what is left of a member is ended, and said. */
  function watch(member: Member): void {
    const { name, app, sidecar } = member;
    const gone = (which: Running, other: Running) =>
      void which.exited.then(async (how) => {
        if (ending || !members.includes(member)) return;
        members.splice(members.indexOf(member), 1);
        void other.stop();
        const rest = members.filter(({ appId }) => appId === APP_ID).map((one) => one.name);
        if (!serving) return;
        say(`${which.name} ended ${describeExit(how)} and is not started again; ${await endOfLog(which)}`);
        if (member === api) failure.resolve('the API is gone');
        else if (rest.length === 0) failure.resolve('no actor host is left');
        else say(`${rest.join(', ')} takes over the actors of ${name}`);
      });
    gone(app, sidecar);
    gone(sidecar, app);
  }

  const metadataOf = async ({ ports: { http } }: Member) => {
    const { text } = await ask(`http://127.0.0.1:${http}/v1.0/metadata`, { 'dapr-api-token': tokens.DAPR_API_TOKEN });
    return text
      ? (JSON.parse(text) as { actorRuntime?: { hostReady?: boolean; placement?: string } }).actorRuntime
      : undefined;
  };
  const serves = async () => {
    if (signal.aborted) return true; // ended below
    const connected = await Promise.all(members.map(metadataOf));
    return (
      connected.every((one) => one?.placement === 'placement: connected') &&
      hosts.every((_, n) => connected[n]?.hostReady) &&
      (await ask(`${address}/health/ready`)).status === 200
    );
  };
  const needs = [placement, scheduler, ...members.flatMap(({ app, sidecar }) => [app, sidecar])];
  await waitUntil('the cluster serves', serves, { needs, ms: READY_MS });
  signal.throwIfAborted();
  serving = true;
  await hold.update({ children, address }); // for whoever looks for it, whatever its port

  const running = begun.move();
  return {
    address,
    failed: failure.promise,
    async describe() {
      const table = JSON.parse((await ask(`${placementHealthUrl}/placement/state`)).text || '{}') as Table;
      const types = new Map(
        table.tables?.['default']?.hosts?.map(({ name, entities = [] }) => [name, entities.join(', ')]),
      );
      const rows = members.map(({ name, appId, ports: own, app, sidecar }) => [
        name,
        appId,
        `${app.pid}`,
        own.app === undefined ? address : `127.0.0.1:${own.app}`,
        `${own.http} / ${own.grpc}`,
        `${sidecar.pid}`,
        types.get(`127.0.0.1:${own.internal}`) ?? 'nothing',
      ]);
      return [
        `Rookery serves at ${address}, on Dapr.`,
        '',
        ...columns([['process', 'app id', 'pid', 'listens', 'sidecar http / grpc', 'its pid', 'hosts'], ...rows]),
        '',
        `placement ${placementHealthUrl}/placement/state, scheduler 127.0.0.1:${ports.scheduler.grpc}; logs in ${join(folder, 'logs')}`,
        `The health ports ${ports.placement.health} and ${ports.scheduler.health} of Dapr 1.18.3 listen on every interface of this machine, whatever they are told.`,
        'Next: npm run demo, in a second terminal. Ctrl-C ends the cluster.',
      ].join('\n');
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows.map((row) => `  ${row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')}`.trimEnd());
};
