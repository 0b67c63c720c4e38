import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DaprEngineOptions, openDaprEngine } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { escapeName } from '../../../src/platform/actor-runtime/dapr/escape.ts';
import {
  actorsOf,
  createHost,
  type Implementation,
  type RuntimeLog,
} from '../../../src/platform/actor-runtime/index.ts';
import { type Database, openDatabase } from '../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { waitUntil } from '../../../dapr/processes.ts';
import { type DaprCluster, daprMissing, type SidecarHandle, startDapr } from './dapr-harness.ts';
import { testDatabase } from '../wire/database.ts';
import type { EngineUnderTest, HostSetup, RunningHost } from './engine-harness.ts';

const RETRY_MS = 100;
export const API_TOKEN = 'token-of-the-sidecar';
export const APP_TOKEN = 'token-of-the-app';
export const CALLER_TOKEN = 'token-of-our-processes';

const quietLog: RuntimeLog = { debug() {}, info() {}, warn() {}, error() {} };
/** `ROOKERY_TEST_LOG=1` shows what the runtime says. */
export const testLog: RuntimeLog = process.env['ROOKERY_TEST_LOG']
  ? (Object.fromEntries(
      ['debug', 'info', 'warn', 'error'].map((level) => [
        level,
        (detail: object, message: string) =>
          void process.stderr.write(
            `${new Date().toISOString()} ${level} ${message} ${JSON.stringify(detail, (_key, value: unknown) => (value instanceof Error ? (value.cause instanceof Error ? `${value.stack} ${value.cause.stack}` : value.stack) : value))}\n`,
          ),
      ]),
    ) as unknown as RuntimeLog)
  : quietLog;

export interface DaprHost extends RunningHost {
  readonly sidecar: SidecarHandle;
  readonly incarnation: string;
}

/** A host in this process, with a sidecar of its own in the cluster; ends when calls and reminders reach it. */
export async function startDaprHost(
  dapr: DaprCluster,
  sql: Database,
  setup: HostSetup,
  more: Partial<DaprEngineOptions> = {},
): Promise<DaprHost> {
  const ports = await dapr.reserve();
  const incarnation = newId();
  const engine = await openDaprEngine({
    httpPort: ports.http,
    grpcPort: ports.grpc,
    appPort: ports.app,
    apiToken: API_TOKEN,
    appToken: APP_TOKEN,
    callerToken: CALLER_TOKEN,
    clock: systemClock,
    log: testLog,
    sql,
    incarnation,
    types: setup.implementations.map(({ contract }) => contract.type),
    placementHealthUrl: dapr.placementHealthUrl,
    retryMs: RETRY_MS,
    ...more,
  });
  const actors = actorsOf(engine);
  const host = createHost({
    implementations: setup.implementations,
    needs: setup.needs,
    actors,
    clock: systemClock,
    log: testLog,
    ...(setup.limits && { limits: setup.limits }),
  });
  const sidecar = dapr.sidecar(ports);
  const hosting = await engine.host(host);
  await placed(sidecar);
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await hosting[Symbol.asyncDispose]();
    await engine.close();
    await sidecar.process.stop();
  };
  return { actors, engine, host, sidecar, incarnation, stop: () => (stopped ??= stop()) };
}

/** Ends when placement knows the sidecar and its app. */
export const placed = (sidecar: SidecarHandle): Promise<void> =>
  waitUntil(
    `${sidecar.process.name} is placed`,
    async () => {
      const { actorRuntime } = await sidecar.metadata();
      return actorRuntime?.hostReady === true && actorRuntime.placement === 'placement: connected';
    },
    { needs: [sidecar.process] },
  );

/** An engine beside a sidecar that hosts nothing. */
export async function startDaprCaller(
  dapr: DaprCluster,
  sql: Database,
  implementations: readonly Implementation[],
  more: Partial<DaprEngineOptions> = {},
) {
  const ports = await dapr.reserve();
  const sidecar = dapr.sidecar(ports, 'api');
  const engine = await openDaprEngine({
    httpPort: ports.http,
    grpcPort: ports.grpc,
    appPort: ports.app,
    apiToken: API_TOKEN,
    appToken: undefined,
    callerToken: CALLER_TOKEN,
    clock: systemClock,
    log: testLog,
    sql,
    incarnation: newId(),
    types: implementations.map(({ contract }) => contract.type),
    ...more,
  });
  await engine.ready();
  return {
    engine,
    sidecar,
    actors: actorsOf(engine),
    async stop() {
      await engine.close();
      await sidecar.process.stop();
    },
  };
}

/** A call whose socket is destroyed once it is surely waiting. */
async function abandonCall(
  httpPort: number,
  { type, id }: { type: string; id: string },
  method: string,
  input: unknown,
  afterMs = 200,
): Promise<void> {
  const agent = new Agent();
  const asked = request({
    host: '127.0.0.1',
    port: httpPort,
    method: 'POST',
    agent,
    path: `/v1.0/actors/${escapeName(type)}/${escapeName(id)}/method/${escapeName(method)}`,
    headers: {
      'content-type': 'application/json',
      'dapr-api-token': API_TOKEN,
      'x-actor-caller': CALLER_TOKEN,
      'x-command-id': newId(),
    },
  });
  asked.on('error', () => {});
  asked.end(input === undefined ? '' : JSON.stringify(input));
  await sleep(afterMs);
  asked.destroy();
  agent.destroy();
  await sleep(100); // daprd has seen it leave
}

/**
 * The Dapr engine for the conformance suite: real daprd, placement and scheduler, one sidecar for each host that
 * starts.
 */
export const daprUnderTest: EngineUnderTest = {
  name: 'dapr',
  missing: daprMissing(),
  many: 2_000, // each goes through the scheduler, placement and a sidecar: six processes on one machine
  async open() {
    const database = await testDatabase();
    const sql = openDatabase({ url: database.url, connections: 4 });
    const dapr = await startDapr({
      databaseUrl: database.url,
      redisUrl: process.env['TEST_REDIS_URL'],
      apiToken: API_TOKEN,
      appToken: APP_TOKEN,
    });
    let current: DaprHost | undefined;
    return {
      sql,
      retryMs: RETRY_MS,
      setMs: 8_000,
      async startHost(setup) {
        await current?.stop();
        // The many reminders of the suite may keep this process from answering the probes of daprd in time: what fails
        // meanwhile is repeated for longer than that lasts.
        current = await startDaprHost(dapr, sql, setup, { repeatMs: 20_000 });
        return current;
      },
      abandon: (running, to, method, input) => abandonCall((running as DaprHost).sidecar.ports.http, to, method, input),
      async outage(ms) {
        dapr.scheduler().signal('SIGKILL');
        await dapr.scheduler().exited;
        await sleep(ms);
        await dapr.restartScheduler();
      },
      async [Symbol.asyncDispose]() {
        await current?.stop();
        await dapr[Symbol.asyncDispose]();
        await sql.end();
        await database[Symbol.asyncDispose]();
      },
    };
  },
};
