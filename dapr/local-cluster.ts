import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DATA_FOLDER_MODE, SETTINGS } from '../src/platform/config/index.ts';
import { startEmbeddedPostgres } from '../src/platform/db/embedded/index.ts';
import { migrate, openDatabase } from '../src/platform/db/index.ts';
import {
  HeldError,
  holdFile,
  isRunning,
  processMarkOf,
  type ProcessMark,
  readHolder,
} from '../src/platform/db/embedded/processes.ts';
import { type DaprPrograms, installDapr, type Environment, type Say } from './install/index.ts';
import { type ClusterPorts, findPorts } from './ports.ts';
import {
  API_APP_ID,
  APP_ID,
  ask,
  COMPONENTS,
  componentsOpen,
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

/** What is known of a cluster from its first process to its last. */
interface Cluster extends ClusterOptions {
  /** DATA_FOLDER, and the place of the cluster in it. */
  readonly data: string;
  readonly folder: string;
  readonly hold: Awaited<ReturnType<typeof holdFile>>;
  readonly programs: DaprPrograms;
  readonly ports: ClusterPorts;
  readonly address: string;
  readonly placementHealthUrl: string;
  readonly tokens: { DAPR_API_TOKEN: string; APP_API_TOKEN: string };
  readonly children: ProcessMark[];
  readonly members: Member[];
  readonly failure: PromiseWithResolvers<string>;
  /** Before it serves, the wait for that says who ended. */
  serving: boolean;
  ending: boolean;
}

const logOf = ({ folder }: Cluster, name: string) => join(folder, 'logs', `${name}.log`);

const holdFolder = (folder: string, mark: string) =>
  holdFile(mark).catch((error: unknown) => {
    throw error instanceof HeldError
      ? new Error(
          `A cluster runs already with the folder ${folder}: process ${error.holder.pid}. ` +
            'End it, or let DATA_FOLDER name another folder.',
          { cause: error },
        )
      : error;
  });

async function note({ hold, children }: Cluster, running: Running): Promise<Running> {
  children.push(processMarkOf(running.pid));
  await hold.update({ children });
  return running;
}

/** A program without which nothing is served. */
async function needed(cluster: Cluster, running: Running): Promise<Running> {
  void running.exited.then(
    (how) =>
      void (
        cluster.ending ||
        cluster.failure.resolve(`${running.name} ended ${describeExit(how)}; its log is ${running.logFile}`)
      ),
  );
  return note(cluster, running);
}

/** The database that DATABASE_URL names, or one of this folder, with all its tables. */
async function openMigrated({ environment, data, say }: Cluster, begun: AsyncDisposableStack): Promise<string> {
  let url = environment['DATABASE_URL'];
  if (!url) {
    const postgres = begun.use(
      await startEmbeddedPostgres({
        folder: join(data, 'postgres'),
        log: (line) => void (/^(Making|Ending)/.test(line) && say(line)),
      }),
    );
    url = postgres.url;
  }
  const { ALLOW_DESTRUCTIVE_SCHEMA: asked } = environment;
  const allowDestructive = Boolean(asked) && SETTINGS.ALLOW_DESTRUCTIVE_SCHEMA.parse(asked!);
  const sql = openDatabase({ url, connections: 2, applicationName: 'rookery-migrate' });
  try {
    await migrate(sql, { allowDestructive });
  } finally {
    await sql.end();
  }
  return url;
}

/** What components/bus.yaml is given of a Redis. @throws Error for an address that says more */
export function busOf(redisUrl: string): { REDIS_HOST: string; REDIS_PASSWORD: string } {
  const { protocol, username, password, hostname, port, pathname } = new URL(redisUrl);
  if (protocol !== 'redis:' || !['', 'default'].includes(username) || !/^\/?0?$/.test(pathname))
    throw new Error(
      'The sidecars of a local cluster take a Redis without TLS, user and database only: ' +
        'let REDIS_URL be redis://[:password@]host[:port].',
    );
  return { REDIS_HOST: `${hostname}:${port || '6379'}`, REDIS_PASSWORD: decodeURIComponent(password) };
}

/** The Redis that REDIS_URL names, or one of this folder. */
async function openRedis(cluster: Cluster, begun: AsyncDisposableStack): Promise<string> {
  const { environment, ports, folder } = cluster;
  const given = environment['REDIS_URL'];
  if (given) {
    busOf(given); // said before anything is started
    return given;
  }
  const { running, url } = await startRedis({
    port: ports.redis,
    folder: join(folder, 'redis'),
    logFile: logOf(cluster, 'redis'),
    environment,
  });
  begun.defer(async () => void (await running.stop(5_000)));
  await needed(cluster, running);
  return url;
}

/** Placement and scheduler. */
async function startControl(cluster: Cluster, begun: AsyncDisposableStack): Promise<Running[]> {
  const { environment, ports, folder, programs } = cluster;
  const placement = await needed(
    cluster,
    startPlacement({ programs, environment, ports: ports.placement, logFile: logOf(cluster, 'placement') }),
  );
  begun.defer(async () => void (await placement.stop(5_000)));
  const scheduler = await needed(
    cluster,
    startScheduler({
      programs,
      environment,
      ports: ports.scheduler,
      dataFolder: join(folder, 'scheduler'),
      logFile: logOf(cluster, 'scheduler'),
    }),
  );
  begun.defer(async () => void (await scheduler.stop(10_000)));
  return [placement, scheduler];
}

interface MemberOptions {
  name: string;
  command: string;
  appId: string;
  own: ClusterPorts['api'];
  httpPort: string;
  databaseUrl: string;
  redisUrl: string;
}
/** Starts a process and its daprd. */
async function startMember(cluster: Cluster, options: MemberOptions): Promise<Member> {
  const { environment, tokens, data, folder, address, placementHealthUrl, programs, ports } = cluster;
  const { name, command, appId, own, httpPort, databaseUrl, redisUrl } = options;
  const { METRICS_PORT: _one, ...inherited } = environment; // one port cannot serve several hosts
  const shared = {
    ...inherited,
    ...tokens,
    NAMESPACE: 'default',
    DATA_FOLDER: data,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
  };
  const app = await note(
    cluster,
    startProcess({
      name,
      command: process.execPath,
      args: [ENTRY, command],
      logFile: logOf(cluster, name),
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
    cluster,
    startSidecar({
      name: `${name}-daprd`,
      programs,
      appId,
      ports: { ...own, app: own.app ?? Number(httpPort) }, // the API is called where everybody calls it
      placement: ports.placement,
      scheduler: ports.scheduler,
      namesFile: resolve(folder, 'names.db'),
      logFile: logOf(cluster, `${name}-daprd`),
      resources: [COMPONENTS, ...(environment['DAPR_RESOURCES'] ? [environment['DAPR_RESOURCES']] : [])],
      environment: { ...shared, ...busOf(redisUrl) },
    }),
  );
  return { name, app, sidecar, appId, ports: own };
}

/** A half without its other half is worse than none: what is left of a member is ended, and said. */
function watch(cluster: Cluster, member: Member): void {
  const { members, say, failure } = cluster;
  const { name, app, sidecar } = member;
  const gone = (which: Running, other: Running) =>
    void which.exited.then(async (how) => {
      if (cluster.ending || !members.includes(member)) return;
      members.splice(members.indexOf(member), 1);
      void other.stop();
      const rest = members.filter(({ appId }) => appId === APP_ID).map((one) => one.name);
      if (!cluster.serving) return;
      say(`${which.name} ended ${describeExit(how)} and is not started again; ${await endOfLog(which)}`);
      if (member.appId === API_APP_ID) failure.resolve('the API is gone');
      else if (rest.length === 0) failure.resolve('no actor host is left');
      else say(`${rest.join(', ')} takes over the actors of ${name}`);
    });
  gone(app, sidecar);
  gone(sidecar, app);
}

async function serves({ signal, members, tokens, address }: Cluster): Promise<boolean> {
  if (signal.aborted) return true; // ended by who waits
  const connected = await Promise.all(
    members.map(async ({ ports: { http }, appId }) => {
      const { text } = await ask(`http://127.0.0.1:${http}/v1.0/metadata`, { 'dapr-api-token': tokens.DAPR_API_TOKEN });
      const runtime = text
        ? (JSON.parse(text) as { actorRuntime?: { hostReady?: boolean; placement?: string } }).actorRuntime
        : undefined;
      return runtime?.placement === 'placement: connected' && (appId !== APP_ID || runtime.hostReady);
    }),
  );
  return connected.every(Boolean) && (await ask(`${address}/health/ready`)).status === 200;
}

async function describeCluster({ placementHealthUrl, members, address, ports, folder }: Cluster): Promise<string> {
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
    `placement ${placementHealthUrl}/placement/state, scheduler 127.0.0.1:${ports.scheduler.grpc}; ` +
      `logs in ${join(folder, 'logs')}`,
    `The health ports ${ports.placement.health} and ${ports.scheduler.health} of Dapr 1.18.3 listen on every interface ` +
      'of this machine, whatever they are told.',
    'Next: npm run demo, in a second terminal. Ctrl-C ends the cluster.',
  ].join('\n');
}

/** Takes the folder, finds Dapr and the ports; nothing runs yet. */
async function prepareCluster(options: ClusterOptions, begun: AsyncDisposableStack): Promise<Cluster> {
  const { environment, say } = options;
  const data = environment['DATA_FOLDER'] || '.data';
  const folder = join(data, 'cluster');
  await mkdir(data, { recursive: true, mode: DATA_FOLDER_MODE });
  await mkdir(folder, { recursive: true });
  const mark = join(folder, 'running.json');
  await endLeftOvers(mark, say);
  const hold = begun.use(await holdFolder(folder, mark));
  const { from, programs } = await installDapr(options);
  say(`Dapr from ${from}`);
  const ports = await findPorts(HOSTS);
  if (ports.step > 0) say(`some ports are taken, all of the cluster are moved by ${ports.step}`);
  return {
    ...options,
    data,
    folder,
    hold,
    programs,
    ports,
    address: `http://127.0.0.1:${environment['PORT'] || '3000'}`,
    placementHealthUrl: `http://127.0.0.1:${ports.placement.health}`,
    tokens: { DAPR_API_TOKEN: randomBytes(24).toString('hex'), APP_API_TOKEN: randomBytes(24).toString('hex') },
    children: [],
    members: [],
    failure: Promise.withResolvers<string>(),
    serving: false,
    ending: false,
  };
}

/**
 * Starts placement, scheduler, two actor hosts and an API, each with its daprd, on 127.0.0.1. Resolves when it can
 * serve.
 */
export async function startLocalCluster(options: ClusterOptions): Promise<LocalCluster> {
  const { environment, signal } = options;
  await using begun = new AsyncDisposableStack();
  const cluster = await prepareCluster(options, begun);
  const { address, children, failure, hold, members, ports } = cluster;
  const databaseUrl = await openMigrated(cluster, begun);
  const redisUrl = await openRedis(cluster, begun);
  signal.throwIfAborted();
  const control = await startControl(cluster, begun);

  begun.defer(async () => {
    cluster.ending = true;
    // apps first: a sidecar that ends before its app cuts every running turn
    await Promise.all(members.map(({ app }) => app.stop()));
    await Promise.all(members.map(({ sidecar }) => sidecar.stop()));
  });

  const stores = { databaseUrl, redisUrl };
  for (const [n, own] of ports.hosts.entries()) {
    const member = await startMember(cluster, {
      ...stores,
      name: `host-${n + 1}`,
      command: HOST_COMMAND,
      appId: APP_ID,
      own,
      httpPort: '0',
    });
    members.push(member);
    if (n === 0) await componentsOpen(member.sidecar, own.http, cluster.tokens.DAPR_API_TOKEN);
  }
  members.push(
    await startMember(cluster, {
      ...stores,
      name: 'api',
      command: API_COMMAND,
      appId: API_APP_ID,
      own: ports.api,
      httpPort: environment['PORT'] || '3000',
    }),
  );
  for (const member of members) watch(cluster, member);

  const needs = [...control, ...members.flatMap(({ app, sidecar }) => [app, sidecar])];
  await waitUntil('the cluster serves', () => serves(cluster), { needs, ms: READY_MS });
  signal.throwIfAborted();
  cluster.serving = true;
  await hold.update({ children, address }); // for whoever looks for it, whatever its port

  const running = begun.move();
  return {
    address,
    failed: failure.promise,
    describe: () => describeCluster(cluster),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows.map((row) => `  ${row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')}`.trimEnd());
};
