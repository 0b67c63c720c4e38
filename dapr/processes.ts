import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PROBE } from '../src/platform/actor-runtime/dapr/probe.ts'; // alone: the programs start without the engine
import type { DaprPrograms, Environment } from './install/index.ts';

export const APP_ID = 'rookery';
export const API_APP_ID = 'rookery-api';
const HERE = '127.0.0.1';
const ROOT = fileURLToPath(new URL('../', import.meta.url));
export const COMPONENTS = join(ROOT, 'components');
const CONFIG = join(ROOT, 'dapr', 'config.yaml');
const API_CONFIG = join(ROOT, 'dapr', 'config-api.yaml');
const NAMES_CONFIG = join(ROOT, 'dapr', 'names.yaml');
/** Daprd takes folders only, and passes over what is not YAML. */
const RESILIENCY_FOLDER = join(ROOT, 'dapr');
/** Above a drain: our health turns 503 long before. */
const BLOCK_SHUTDOWN = '30s';
const STOP_MS = 20_000;
const ASK_MS = 2_000;
const LAST_LINES = 8;
const LONGEST_LINE = 500;
const LAST_LINES_MS = 2_000;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}
/** A program that was started here, in a process group of its own. */
export interface Running {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  readonly exited: Promise<Exit>;
  /** Once all that it printed is in its log, a moment after its end. */
  readonly logged: Promise<void>;
  /** Undefined while it runs. */
  exit(): Exit | undefined;
  /** To the process and what it started. Nothing happens when it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL for what is still there after `graceMs`. Ends when it is gone. */
  stop(graceMs?: number): Promise<Exit>;
}

export interface Start {
  name: string;
  command: string;
  args: readonly string[];
  environment: Environment;
  logFile: string;
  cwd?: string;
}

/** Starts a program whose output goes to a file. Its end is told by `exited`; nothing starts it again. */
export function startProcess({ name, command, args, environment, logFile, cwd = ROOT }: Start): Running {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile, { flags: 'a' });
  const logged = new Promise<void>((done) => void log.once('close', done));
  const child: ChildProcess = spawn(command, args, {
    cwd,
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  let exit: Exit | undefined;
  const exited = new Promise<Exit>((done) => {
    const ended = (how: Exit) => {
      exit ??= how;
      done(exit);
    };
    child.once('exit', (code, signal) => ended({ code, signal }));
    child.once('close', () => log.end()); // its last words may come after its end
    child.once('error', (error) => {
      log.end(`${String(error)}\n`);
      ended({ code: -1, signal: null });
    });
  });
  const signal = (which: NodeJS.Signals) => {
    if (exit || child.pid === undefined) return;
    try {
      process.kill(-child.pid, which);
    } catch {
      // it ended in this moment
    }
  };
  return {
    name,
    logFile,
    exited,
    logged,
    signal,
    pid: child.pid ?? -1,
    exit: () => exit,
    async stop(graceMs = STOP_MS) {
      signal('SIGTERM');
      const timer = setTimeout(() => signal('SIGKILL'), graceMs);
      const how = await exited;
      clearTimeout(timer);
      return how;
    },
  };
}

/** Where the log of a program that ended is, and its last lines: a reader need not open it to know the reason. */
export async function endOfLog({ logFile, logged }: Pick<Running, 'logFile' | 'logged'>): Promise<string> {
  // what it started may keep its output open
  await Promise.race([logged, sleep(LAST_LINES_MS, undefined, { ref: false })]);
  const text = await readFile(logFile, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n').slice(-LAST_LINES);
  return `the end of ${logFile}:\n${lines.map((line) => `  ${line.slice(0, LONGEST_LINE)}`).join('\n')}`;
}

/** Status and body of a GET; status 0 when nobody answers. */
export function ask(url: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((done) => {
    const asked = request(url, { headers, timeout: ASK_MS, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => void (text += more));
      response.on('end', () => done({ status: response.statusCode ?? 0, text }));
      response.on('error', () => done({ status: 0, text }));
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => done({ status: 0, text: '' }));
    asked.end();
  });
}

/** Waits for `isReady`; rejects when one of the programs ends meanwhile, or after `ms`. */
export async function waitUntil(
  what: string,
  isReady: () => Promise<boolean>,
  { needs = [], ms = 60_000 }: { needs?: readonly Running[]; ms?: number } = {},
): Promise<void> {
  const started = performance.now();
  while (!(await isReady())) {
    const gone = needs.find((one) => one.exit());
    if (gone)
      throw new Error(`${gone.name} ended (${describeExit(gone.exit()!)}) before ${what}; ${await endOfLog(gone)}`);
    if (performance.now() - started > ms)
      throw new Error(`Not within ${ms / 1_000} s: ${what}. Logs: ${needs.map(({ logFile }) => logFile).join(', ')}`);
    await sleep(100);
  }
}
export const describeExit = ({ code, signal }: Exit): string => (signal ? `by ${signal}` : `with code ${code}`);

export interface PlacementPorts {
  grpc: number;
  raft: number;
  health: number;
  metrics: number;
}
export interface SchedulerPorts {
  grpc: number;
  etcdClient: number;
  etcdPeer: number;
  health: number;
  metrics: number;
}
export interface SidecarPorts {
  app: number | undefined;
  http: number;
  grpc: number;
  internal: number;
  metrics: number;
}
interface Common {
  programs: DaprPrograms;
  logFile: string;
  environment: Environment;
}

/**
 * Placement, which says which host has which actor. Keeps nothing on disk. Its health port listens on every interface,
 * whatever it is told.
 */
export const startPlacement = ({
  programs,
  ports,
  logFile,
  environment,
}: Common & { ports: PlacementPorts }): Running =>
  startProcess({
    name: 'placement',
    command: programs.placement,
    environment,
    logFile,
    args: [
      '--listen-address',
      HERE,
      '--port',
      `${ports.grpc}`,
      '--initial-cluster',
      `dapr-placement-0=${HERE}:${ports.raft}`,
      '--healthz-port',
      `${ports.health}`,
      '--metadata-enabled',
      '--metrics-listen-address',
      HERE,
      '--metrics-port',
      `${ports.metrics}`,
    ],
  });

/** Scheduler, which keeps the reminders in `dataFolder`. */
export const startScheduler = ({
  programs,
  ports,
  logFile,
  environment,
  dataFolder,
}: Common & { ports: SchedulerPorts; dataFolder: string }): Running =>
  startProcess({
    name: 'scheduler',
    command: programs.scheduler,
    environment,
    logFile,
    args: [
      '--listen-address',
      HERE,
      '--port',
      `${ports.grpc}`,
      '--etcd-data-dir',
      dataFolder,
      '--etcd-client-listen-address',
      HERE,
      '--etcd-client-port',
      `${ports.etcdClient}`,
      '--etcd-initial-cluster',
      `dapr-scheduler-server-0=http://${HERE}:${ports.etcdPeer}`,
      '--etcd-initial-election-tick-advance',
      '--healthz-port',
      `${ports.health}`,
      '--metrics-listen-address',
      HERE,
      '--metrics-port',
      `${ports.metrics}`,
    ],
  });

export interface SidecarStart extends Common {
  name: string;
  appId: string;
  ports: SidecarPorts;
  placement: PlacementPorts;
  scheduler: SchedulerPorts;
  /** Where the sidecars of a cluster find each other by app id; one file for all of them, and of no other cluster. */
  namesFile: string;
  /** Folders or files with components; ours unless a test has its own. */
  resources?: readonly string[];
}

/** How daprd watches a host: the drain is built on these flags. */
const OF_HOSTS = [
  '--enable-app-health-check',
  '--app-health-check-path',
  '/healthz',
  '--app-health-probe-interval',
  `${PROBE.intervalMs / 1_000}`,
  '--app-health-probe-timeout',
  `${PROBE.timeoutMs}`,
  '--app-health-threshold',
  `${PROBE.threshold}`,
  '--dapr-block-shutdown-duration',
  BLOCK_SHUTDOWN, // ends when the app turns unhealthy; without an app, never before its time
];

/** One daprd, on 127.0.0.1 only. It probes a host as `PROBE` says. */
export const startSidecar = ({
  name,
  programs,
  appId,
  ports,
  placement,
  scheduler,
  namesFile,
  logFile,
  environment,
  resources = [COMPONENTS],
}: SidecarStart): Running =>
  startProcess({
    name,
    command: programs.daprd,
    environment: { ...environment, DAPR_NAMES_FILE: namesFile },
    logFile,
    args: [
      '--app-id',
      appId,
      ...(ports.app === undefined ? [] : ['--app-port', `${ports.app}`, '--app-protocol', 'http']),
      ...(ports.app !== undefined && appId === APP_ID ? OF_HOSTS : []),
      // it hosts no actor and hears no topic: it is called, and is not asked for either
      ...(ports.app !== undefined && appId === API_APP_ID ? ['--disable-init-endpoints', 'config,subscribe'] : []),
      '--dapr-listen-addresses',
      HERE,
      '--dapr-http-port',
      `${ports.http}`,
      '--dapr-grpc-port',
      `${ports.grpc}`,
      '--dapr-internal-grpc-port',
      `${ports.internal}`,
      '--dapr-internal-grpc-listen-address',
      HERE,
      '--dapr-graceful-shutdown-seconds',
      '10',
      '--max-body-size',
      '16Mi',
      '--metrics-listen-address',
      HERE,
      '--metrics-port',
      `${ports.metrics}`,
      '--placement-host-address',
      `${HERE}:${placement.grpc}`,
      '--scheduler-host-address',
      `${HERE}:${scheduler.grpc}`,
      ...resources.flatMap((path) => ['--resources-path', path]),
      '--resources-path',
      RESILIENCY_FOLDER,
      '--config',
      appId === APP_ID ? CONFIG : API_CONFIG,
      '--config',
      NAMES_CONFIG,
    ],
  });

/**
 * Waits until a sidecar has opened its components; whether its app answers does not matter. The first sidecar of a
 * database has to: two that open its state store at once both make the tables, and daprd 1.18.3 ends where the other one
 * was first (SQLSTATE 42710; 2 of 55 starts).
 */
export const componentsOpen = (sidecar: Running, httpPort: number, apiToken: string): Promise<void> =>
  waitUntil(
    'its components are open',
    async () =>
      (await ask(`http://127.0.0.1:${httpPort}/v1.0/healthz/outbound`, { 'dapr-api-token': apiToken })).status === 204,
    { needs: [sidecar] },
  );
