import { createServer } from 'node:net';
import type { PlacementPorts, SchedulerPorts, SidecarPorts } from './processes.ts';

/** Every port of the local cluster. `step` says how far the whole block was moved. */
export interface ClusterPorts {
  step: number;
  placement: PlacementPorts;
  scheduler: SchedulerPorts;
  hosts: readonly (SidecarPorts & { app: number })[];
  api: SidecarPorts;
  redis: number;
}

// All below what systems deal out to connections (from 32,768 on): there, a connection that was just closed holds its
// port for a minute.
const STEP = 100;
const STEPS = 20;

const block = (step: number, hosts: number): ClusterPorts => ({
  step,
  placement: { grpc: 6_005 + step, raft: 8_201 + step, health: 8_081 + step, metrics: 9_091 + step },
  scheduler: {
    grpc: 6_006 + step,
    etcdClient: 2_379 + step,
    etcdPeer: 2_380 + step,
    health: 8_082 + step,
    metrics: 9_092 + step,
  },
  hosts: Array.from({ length: hosts }, (_, n) => sidecar(step, n, 7_001 + n + step)),
  api: sidecar(step, hosts, undefined),
  redis: 6_390 + step,
});
const sidecar = <App extends number | undefined>(step: number, n: number, app: App) => ({
  app,
  http: 3_501 + n + step,
  grpc: 6_011 + n + step,
  internal: 6_101 + n + step,
  metrics: 9_101 + n + step,
});

const numbersOf = ({ placement, scheduler, hosts, api, redis }: ClusterPorts): number[] =>
  [placement, scheduler, ...hosts, api]
    .flatMap((ports) => Object.values(ports) as (number | undefined)[])
    .filter((port) => port !== undefined)
    .concat(redis);

const isFree = (port: number) =>
  new Promise<boolean>((done) => {
    const probe = createServer().once('error', () => done(false));
    // every address, as the health ports of placement and scheduler do
    probe.listen({ port, exclusive: true }, () => probe.close(() => done(true)));
  });

/** The first block of ports that is free as a whole; rejects with the ports that were taken. */
export async function findPorts(hosts: number): Promise<ClusterPorts> {
  const taken: number[] = [];
  for (let n = 0; n < STEPS; n++) {
    const ports = block(n * STEP, hosts);
    const numbers = numbersOf(ports);
    const free = await Promise.all(numbers.map(isFree));
    const blocked = numbers.filter((_, at) => !free[at]);
    if (blocked.length === 0) return ports;
    taken.push(...blocked);
  }
  throw new Error(`No free block of ports for the cluster: ${taken.join(', ')} are taken. End what listens there.`);
}
