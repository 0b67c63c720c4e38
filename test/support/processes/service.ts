import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, componentsOpen, type Exit, type Running, startProcess, waitUntil } from '../../../dapr/processes.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { isFull } from './chaos.ts';
import { type DaprCluster, daprMissing, type HostPorts, type SidecarHandle, startDapr } from './dapr-harness.ts';
import { inherited } from './scripts/rookery-process.ts';
import { startBalancer } from '../wire/balancer.ts';
import { freePort, freePorts } from '../wire/ports.ts';

// The whole product as processes, seen from outside: what is told here is what an operator could tell.

/** Of every deployment that a test starts. */
export const SIGNING_SECRET = 'signs every delivery of the deployment under test';
const READY_MS = 150_000;
const TERM_GUARD_MS = 15_000; // the drain has ended by itself long before

type Env = Readonly<Record<string, string>>;
/** Something that stands before a port, on a port of its own. */
export interface Link extends AsyncDisposable {
  readonly port: number;
}
/** A wire of an actor host of a cluster: sidecar to app, app to sidecar by HTTP and by gRPC, sidecar to placement. */
export type Wire = 'app' | 'http' | 'grpc' | 'placement';

export interface ServiceOptions {
  /** Of the product. */
  database: { url: string };
  /** Of the ledger of the sandbox, when that is to outlive the product's. */
  ledger?: { url: string };
  redisUrl?: string | undefined;
  /** Actor hosts of a cluster. */
  hosts?: number;
  /** Processes of a cluster that have its API; several stand behind a balancer. */
  apis?: number;
  /** Settings beside those that a start needs. */
  env?: Env;
  /** Of a cluster: settings of one of its processes, `host-1` and so on, or `api-1`. */
  envOf?: (name: string) => Env;
  /** Of a cluster: what stands on the wires of the hosts, opened for each with the port behind it. */
  between?: Readonly<Partial<Record<Wire, (port: number, host: number) => Promise<Link>>>>;
  /** What stands between the product and the sandbox. */
  beforeNetwork?: (port: number) => Promise<Link>;
  /** On the embedded engine: the program in the place of `rookery.ts`. */
  program?: string;
  /** On the embedded engine: a file that the process writes what it says into by itself. */
  output?: string;
  /** A folder with components for the sidecars of a cluster, beside ours. */
  resources?: string;
}

/** A running product with its sandbox network; disposing it ends all that was started for it, by id. */
export interface Service extends AsyncDisposable {
  readonly engine: 'embedded' | 'dapr';
  /** Of the API. */
  readonly url: string;
  readonly sandboxUrl: string;
  /** The processes that host actors: on the embedded engine the one that does everything. */
  readonly hosts: readonly Running[];
  /** `kill -9` of a host, with its sidecar when told so. Ends when it is gone. */
  kill(index: number, more?: { sidecar?: boolean }): Promise<void>;
  /**
   * SIGTERM of a host, then of its sidecar. Answers how the host ended and after how many milliseconds; SIGKILL after
   * 15 s is told by its signal.
   */
  end(index: number): Promise<Exit & { ms: number }>;
  /** Starts a host that is gone again, with the same settings; ends when the product can serve. */
  restart(index: number): Promise<void>;
  /** Of a cluster: what lies between its processes. */
  readonly dapr?: DaprCluster;
  /** Of a cluster: `kill -9` of the sidecar of a host that lives. */
  killSidecar?(index: number): Promise<void>;
  /** Starts that one again on its ports; ends when the product can serve. */
  restartSidecar?(index: number): Promise<void>;
  /** Of a cluster: how many processes have its API. */
  readonly apis?: number;
  /** Of a cluster with several of them: SIGTERM of one, as `end`; the balancer leaves it once it is not ready. */
  endApi?(index: number): Promise<Exit & { ms: number }>;
  /** Starts another in the place of one that is gone; ends when the balancer has it. */
  restartApi?(index: number): Promise<void>;
  /** Of a cluster: a sidecar for an application of somebody else, and the token that sidecars ask for. */
  neighbour?(appId: string, resources: string): Promise<SidecarHandle & { apiToken: string }>;
  /** The last lines that each process wrote, for the message of a test that failed. */
  lastWords(lines?: number): string;
}

const settingsOf = ({ database, env }: ServiceOptions, folder: string, sandboxUrl: string): Env => ({
  ...inherited,
  NODE_NO_WARNINGS: '1',
  DATABASE_URL: database.url,
  DATA_FOLDER: join(folder, 'data'),
  BACKEND_LISTEN_HOST: '127.0.0.1',
  SANDBOX_URL: sandboxUrl,
  JWT_SECRET: '356ef5b7f627b329a1dcd1015b435df7a83c0c08037707fc3877203706f55db1',
  WEBHOOK_SIGNING_SECRET: SIGNING_SECRET,
  SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
  RATE_LIMIT_SCALE: '1000',
  LOG_FORMAT: 'json',
  ...env,
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-service-'));
  chmodSync(folder, 0o755);
  return folder;
}
/** `KEEP_SERVICE_LOGS=1` keeps what the processes wrote. */
function dropFolder(folder: string): void {
  if (process.env['KEEP_SERVICE_LOGS']) process.stderr.write(`logs kept in ${folder}\n`);
  else rmSync(folder, { recursive: true, force: true });
}
const tails = (folder: string, lines: number) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.log'))
    .map((file) => `--- ${file}\n${readFileSync(join(folder, file), 'utf8').split('\n').slice(-lines).join('\n')}`)
    .join('\n');

async function startNetwork(
  { ledger, database, beforeNetwork }: ServiceOptions,
  folder: string,
): Promise<AsyncDisposable & { url: string }> {
  await using begun = new AsyncDisposableStack();
  const [port] = (await freePorts(1)) as [number];
  const running = startProcess({
    name: 'sandbox',
    command: process.execPath,
    args: ['sandbox/main.ts', '--database', (ledger ?? database).url, '--port', `${port}`],
    environment: { ...inherited, NODE_NO_WARNINGS: '1' },
    logFile: join(folder, 'sandbox.log'),
  });
  begun.defer(() => killed(running));
  const address = `http://127.0.0.1:${port}`;
  await waitUntil('the sandbox answers', async () => (await ask(`${address}/health`)).status === 200, {
    needs: [running],
    ms: READY_MS,
  });
  const link = await beforeNetwork?.(port);
  if (link) begun.use(link);
  const end = begun.move();
  return { url: link ? `http://127.0.0.1:${link.port}` : address, [Symbol.asyncDispose]: () => end.disposeAsync() };
}

const killed = async (running: Running) => {
  running.signal('SIGKILL');
  await running.exited;
};
async function terminated(running: Running): Promise<Exit & { ms: number }> {
  const asked = performance.now();
  const exit = await running.stop(TERM_GUARD_MS);
  return { ...exit, ms: Math.round(performance.now() - asked) };
}

/** `node rookery.ts start`: everything in one process. */
export async function startEmbedded(options: ServiceOptions): Promise<Service> {
  await using begun = new AsyncDisposableStack();
  const folder = newFolder();
  begun.defer(() => dropFolder(folder));
  const sandbox = begun.use(await startNetwork(options, folder));
  const [port] = (await freePorts(1)) as [number];
  const url = `http://127.0.0.1:${port}`;
  const environment = { ...settingsOf(options, folder, sandbox.url), PORT: `${port}` };
  const program = [process.execPath, options.program ?? 'rookery.ts', 'start'];
  const start = () =>
    startProcess({
      name: 'rookery',
      ...(options.output === undefined
        ? { command: program[0]!, args: program.slice(1) }
        : {
            command: '/bin/sh',
            args: ['-c', 'out="$1"; shift; exec "$@" >>"$out" 2>&1', 'sh', options.output, ...program],
          }),
      environment,
      logFile: join(folder, 'rookery.log'),
    });

  let running = start();
  begun.defer(() => killed(running));
  const ready = () =>
    waitUntil('the product is ready', async () => (await ask(`${url}/health/ready`)).status === 200, {
      needs: [running],
      ms: READY_MS,
    }).catch((error: unknown) => Promise.reject(new Error(`${String(error)}\n${tails(folder, 30)}`)));
  await ready();

  const end = begun.move();
  return {
    engine: 'embedded',
    url,
    sandboxUrl: sandbox.url,
    get hosts() {
      return [running];
    },
    kill: () => killed(running),
    end: () => terminated(running),
    async restart() {
      running = start();
      await ready();
    },
    lastWords: (lines = 20) => tails(folder, lines),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

interface Member {
  app: Running;
  sidecar: SidecarHandle;
  /** Another one in the place of one that is gone. */
  startSidecar(): SidecarHandle;
}

interface ApiMember {
  url: string;
  app: Running;
  sidecar: SidecarHandle;
}

/** Placement, scheduler, actor hosts and the API, each with a daprd of its own. */
export async function startCluster(options: ServiceOptions): Promise<Service> {
  await using begun = new AsyncDisposableStack();
  const folder = newFolder();
  begun.defer(() => dropFolder(folder));
  const tokens = { apiToken: newId(), appToken: newId() };
  const sandbox = begun.use(await startNetwork(options, folder));
  const dapr: DaprCluster = begun.use(
    await startDapr({
      databaseUrl: options.database.url,
      redisUrl: options.redisUrl,
      resources: options.resources,
      ...tokens,
    }),
  );
  const shared = {
    ...settingsOf(options, folder, sandbox.url),
    ...(options.redisUrl && { REDIS_URL: options.redisUrl }),
  };
  const [firstApiPort] = (await freePorts(1)) as [number];
  const balancer = (options.apis ?? 1) > 1 ? begun.use(await startBalancer()) : undefined;
  const url = balancer?.url ?? `http://127.0.0.1:${firstApiPort}`;

  const startApp = (name: string, command: string, ports: HostPorts, httpPort: number) =>
    startProcess({
      name,
      command: process.execPath,
      args: ['rookery.ts', command],
      logFile: join(folder, `${name}.log`),
      environment: {
        NEXT_PUBLIC_BACKEND_URL: url,
        FRONTEND_URL: url,
        ...shared,
        ACTOR_ENGINE: 'dapr',
        NAMESPACE: 'default',
        PORT: `${httpPort}`,
        DAPR_HTTP_PORT: `${ports.http}`,
        DAPR_GRPC_PORT: `${ports.grpc}`,
        APP_PORT: `${ports.app}`,
        DAPR_API_TOKEN: tokens.apiToken,
        APP_API_TOKEN: tokens.appToken,
        DAPR_PLACEMENT_HEALTH_URL: dapr.placementHealthUrl,
        ...options.envOf?.(name),
      },
    });
  const links: Link[] = [];
  begun.defer(async () => void (await Promise.all(links.map((link) => link[Symbol.asyncDispose]()))));
  const startMember = async (n: number): Promise<Member> => {
    const ports = await dapr.reserve();
    const through = async (wire: Wire, port: number) => {
      const link = await options.between?.[wire]?.(port, n);
      if (link) links.push(link);
      return link?.port ?? port;
    };
    const ofApp = { ...ports, http: await through('http', ports.http), grpc: await through('grpc', ports.grpc) };
    const ofSidecar = { ...ports, app: await through('app', ports.app) };
    const placement = await through('placement', dapr.placementPort);
    const startSidecar = () => dapr.sidecar(ofSidecar, 'host', undefined, placement);
    return { app: startApp(`host-${n + 1}`, 'actors', ofApp, 0), sidecar: startSidecar(), startSidecar };
  };
  const members: Member[] = [];
  begun.defer(async () => void (await Promise.all(members.map(({ app }) => killed(app)))));
  for (let n = 0; n < (options.hosts ?? 2); n++) {
    const member = await startMember(n);
    members.push(member);
    if (n === 0) await componentsOpen(member.sidecar.process, member.sidecar.ports.http, tokens.apiToken);
  }
  const startApiMember = async (n: number, port: number): Promise<ApiMember> => {
    const ports = await dapr.reserve();
    return {
      url: `http://127.0.0.1:${port}`,
      app: startApp(`api-${n + 1}`, 'api', ports, port),
      sidecar: dapr.sidecar(ports, 'api', port),
    };
  };
  const apis: ApiMember[] = [await startApiMember(0, firstApiPort)];
  begun.defer(async () => void (await Promise.all(apis.map(({ app }) => killed(app)))));
  for (let n = 1; n < (options.apis ?? 1); n++) apis.push(await startApiMember(n, await freePort()));
  const isReady = async (one: ApiMember) => (await ask(`${one.url}/health/ready`)).status === 200;

  const placed = async ({ sidecar }: { sidecar: SidecarHandle }, hosts: boolean) => {
    const { actorRuntime } = await sidecar.metadata();
    return actorRuntime?.placement === 'placement: connected' && (!hosts || actorRuntime.hostReady === true);
  };
  const ready = () => {
    const living = members.filter(({ app }) => !app.exit());
    const serving = apis.filter(({ app }) => !app.exit());
    const serves = async () =>
      (
        await Promise.all([...living.map((one) => placed(one, true)), ...serving.map((one) => placed(one, false))])
      ).every(Boolean) && (await Promise.all(serving.map(isReady))).every(Boolean);
    return waitUntil('the cluster serves', serves, {
      needs: [...serving, ...living].map(({ app }) => app),
      ms: READY_MS,
    }).catch((error: unknown) =>
      Promise.reject(new Error(`${String(error)}\n${tails(folder, 30)}\n${tails(dapr.logs, 10)}`)),
    );
  };
  await ready();
  balancer?.backends.push(...apis.map((one) => one.url));

  const end = begun.move();
  return {
    engine: 'dapr',
    url,
    apis: apis.length,
    sandboxUrl: sandbox.url,
    get hosts() {
      return members.map(({ app }) => app);
    },
    async kill(index, { sidecar = false } = {}) {
      const member = members[index]!;
      await Promise.all([killed(member.app), ...(sidecar ? [killed(member.sidecar.process)] : [])]);
    },
    async end(index) {
      const { app, sidecar } = members[index]!;
      const exit = await terminated(app); // apps before sidecars
      await sidecar.process.stop();
      return exit;
    },
    async restart(index) {
      const { sidecar } = members[index]!;
      if (!sidecar.process.exit()) await killed(sidecar.process);
      members[index] = await startMember(index);
      await ready();
    },
    dapr,
    killSidecar: (index) => killed(members[index]!.sidecar.process),
    async restartSidecar(index) {
      const member = members[index]!;
      members[index] = { ...member, sidecar: member.startSidecar() };
      await ready();
    },
    async endApi(index) {
      const { url: address, app, sidecar } = apis[index]!;
      const ended = terminated(app);
      await waitUntil('the API is not ready', async () => app.exit() !== undefined || !(await isReady(apis[index]!)));
      balancer?.backends.splice(balancer.backends.indexOf(address), 1);
      const exit = await ended;
      await sidecar.process.stop();
      return exit;
    },
    async restartApi(index) {
      apis[index] = await startApiMember(index, await freePort());
      await ready();
      balancer?.backends.push(apis[index].url);
    },
    neighbour: async (appId, resources) => ({
      ...dapr.neighbour(await dapr.reserve(), appId, resources),
      apiToken: tokens.apiToken,
    }),
    lastWords: (lines = 20) => `${tails(folder, lines)}\n${tails(dapr.logs, Math.ceil(lines / 3))}`,
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

export interface EngineCase {
  name: 'embedded' | 'dapr';
  missing: string | undefined;
  start(options: ServiceOptions): Promise<Service>;
}
/** Both engines, for tests whose body is the same. `missing` says why one cannot run on this machine. */
export const engines: readonly EngineCase[] = [
  { name: 'embedded', missing: undefined, start: startEmbedded },
  {
    name: 'dapr',
    missing: daprMissing() ?? (process.env['TEST_REDIS_URL'] ? undefined : missingRedis()),
    start: (options) => startCluster({ redisUrl: process.env['TEST_REDIS_URL'], ...options }),
  },
];
/** Of a fault that both engines meet alike, in processes of the same kind: at short depth on one of them. */
export const enginesAtDepth = isFull ? engines : engines.slice(0, 1);
function missingRedis(): string {
  if (process.env['DAPR_REQUIRED'] === '1') throw new Error('Redis is not on this machine, and DAPR_REQUIRED=1');
  return 'Redis is not on this machine';
}
