import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDapr } from '../../../dapr/install/index.ts';
import {
  API_APP_ID,
  APP_ID,
  ask,
  COMPONENTS,
  type PlacementPorts,
  type Running,
  type SchedulerPorts,
  type SidecarPorts,
  startPlacement,
  startScheduler,
  startSidecar,
  waitUntil,
} from '../../../dapr/processes.ts';
import { freePorts } from '../wire/ports.ts';

const programs = await findDapr();
const MISSING = 'Dapr 1.18.3 is not on this machine (npm run dapr:install)';

/** Why Dapr cannot run here, or undefined. Throws when it is required. */
export function daprMissing(): string | undefined {
  if (programs) return undefined;
  if (process.env['DAPR_REQUIRED'] === '1') throw new Error(`${MISSING}, and DAPR_REQUIRED=1`);
  return MISSING;
}

/** Ports of an app and its sidecar. */
export type HostPorts = SidecarPorts & { app: number };

export interface SidecarHandle {
  readonly ports: HostPorts;
  readonly process: Running;
  metadata(): Promise<{
    actorRuntime?: {
      runtimeStatus: string;
      hostReady?: boolean;
      placement: string;
      activeActors?: { type: string; count?: number }[];
    };
  }>;
}

/**
 * Placement, scheduler and any number of sidecars, on free ports and with data of their own. Disposing it ends them
 * all.
 */
export interface DaprCluster extends AsyncDisposable {
  readonly placementHealthUrl: string;
  /** Where sidecars find placement. */
  readonly placementPort: number;
  readonly logs: string;
  placement(): Running;
  scheduler(): Running;
  /** Ports for an app and its sidecar, before either runs. */
  reserve(): Promise<HostPorts>;
  /**
   * A sidecar for the app on `ports.app`. `api` hosts nothing; its app is where it says, or nowhere. `placementPort`:
   * when another way leads to placement.
   */
  sidecar(ports: HostPorts, kind?: 'host' | 'api', apiPort?: number, placementPort?: number): SidecarHandle;
  /** A sidecar of an application of somebody else, with components of its own. */
  neighbour(ports: HostPorts, appId: string, resources: string): SidecarHandle;
  /** Starts it again on the same ports; the scheduler with the same data. */
  restartPlacement(): Promise<void>;
  restartScheduler(): Promise<void>;
  /** The log of a process, for a message of a test that failed. */
  logOf(running: Running): string;
}

export interface ClusterOptions {
  databaseUrl: string;
  redisUrl?: string | undefined;
  apiToken?: string;
  appToken?: string;
  /** A folder with components beside ours. */
  resources?: string | undefined;
}

export async function startDapr({
  databaseUrl,
  redisUrl,
  apiToken,
  appToken,
  resources: more,
}: ClusterOptions): Promise<DaprCluster> {
  if (!programs) throw new Error(MISSING);
  const folder = mkdtempSync(join(tmpdir(), 'rookery-dapr-'));
  const resources = join(folder, 'components');
  cpSync(COMPONENTS, resources, { recursive: true });
  if (!redisUrl) rmSync(join(resources, 'bus.yaml')); // a component that cannot connect keeps daprd from starting
  const redis = redisUrl ? new URL(redisUrl) : undefined;
  const environment = { ...process.env, NAMESPACE: 'default', DAPR_API_TOKEN: undefined, APP_API_TOKEN: undefined };
  const forSidecars = {
    ...environment,
    DATABASE_URL: databaseUrl,
    REDIS_HOST: redis?.host ?? '',
    REDIS_PASSWORD: redis?.password ?? '',
    ...(apiToken && { DAPR_API_TOKEN: apiToken }),
    ...(appToken && { APP_API_TOKEN: appToken }),
  };

  const [p1, p2, p3, p4, s1, s2, s3, s4, s5] = (await freePorts(9)) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const placementPorts: PlacementPorts = { grpc: p1, raft: p2, health: p3, metrics: p4 };
  const schedulerPorts: SchedulerPorts = { grpc: s1, etcdClient: s2, etcdPeer: s3, health: s4, metrics: s5 };
  const healthy = (port: number) => async () => (await ask(`http://127.0.0.1:${port}/healthz`)).status === 200;
  const common = { programs, environment };
  const place = () => startPlacement({ ...common, ports: placementPorts, logFile: join(folder, 'placement.log') });
  const schedule = () =>
    startScheduler({
      ...common,
      ports: schedulerPorts,
      dataFolder: join(folder, 'scheduler'),
      logFile: join(folder, 'scheduler.log'),
    });

  let placement = place();
  let scheduler = schedule();
  const sidecars: Running[] = [];
  const bothReady = async () => {
    await waitUntil('placement is healthy', healthy(placementPorts.health), { needs: [placement] });
    await waitUntil('the scheduler is healthy', healthy(schedulerPorts.health), { needs: [scheduler] });
  };
  await bothReady();

  function start(
    kind: string,
    appId: string,
    ports: HostPorts,
    sidecarPorts: SidecarPorts,
    folders: string[],
    placementPort = placementPorts.grpc,
  ): SidecarHandle {
    const name = `daprd-${kind}-${ports.http}`;
    const running = startSidecar({
      name,
      programs: programs!,
      appId,
      placement: { ...placementPorts, grpc: placementPort },
      scheduler: schedulerPorts,
      namesFile: join(folder, 'names.db'),
      environment: forSidecars,
      resources: folders,
      ports: sidecarPorts,
      logFile: join(folder, `${name}.log`),
    });
    sidecars.push(running);
    return {
      ports,
      process: running,
      async metadata() {
        const { text } = await ask(
          `http://127.0.0.1:${ports.http}/v1.0/metadata`,
          apiToken ? { 'dapr-api-token': apiToken } : {},
        );
        return text ? (JSON.parse(text) as Awaited<ReturnType<SidecarHandle['metadata']>>) : {};
      },
    };
  }

  return {
    placementHealthUrl: `http://127.0.0.1:${placementPorts.health}`,
    placementPort: placementPorts.grpc,
    logs: folder,
    placement: () => placement,
    scheduler: () => scheduler,
    async reserve() {
      const [app, http, grpc, internal, metrics] = (await freePorts(5)) as [number, number, number, number, number];
      return { app, http, grpc, internal, metrics };
    },
    sidecar: (ports, kind = 'host', apiPort, placementPort) =>
      start(
        kind,
        kind === 'host' ? APP_ID : API_APP_ID,
        ports,
        kind === 'host' ? ports : { ...ports, app: apiPort },
        more === undefined ? [resources] : [resources, more],
        placementPort,
      ),
    neighbour: (ports, appId, its) => start('neighbour', appId, ports, ports, [its]),
    async restartPlacement() {
      placement = place();
      await bothReady();
    },
    async restartScheduler() {
      scheduler = schedule();
      await bothReady();
    },
    logOf: ({ logFile }) => readFileSync(logFile, 'utf8'),
    async [Symbol.asyncDispose]() {
      for (const one of [...sidecars, scheduler, placement]) one.signal('SIGCONT');
      for (const one of [...sidecars, scheduler, placement]) one.signal('SIGKILL');
      await Promise.all([...sidecars, scheduler, placement].map(({ exited }) => exited));
      if (!process.env['KEEP_DAPR_LOGS']) rmSync(folder, { recursive: true, force: true });
    },
  };
}
