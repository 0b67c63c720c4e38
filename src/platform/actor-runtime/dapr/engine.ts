import type { Database } from '../../db/index.ts';
import { AppError, type Clock, draining, invalidField } from '../../kernel/index.ts';
import type { Tracing } from '../../telemetry/index.ts';
import type { Bus } from '../bus.ts';
import { checkAddress, checkReminder } from '../address.ts';
import type { Address, Engine, HostingOptions, Reminder, ReminderCounts } from '../engine.ts';
import { type Hold, holdDatabase } from '../database-lock.ts';
import type { Host, RuntimeLog } from '../host.ts';
import { endOutage, type HeartbeatLoop, startHeartbeat } from '../hosts.ts';
import { openDaprBus, type Subscriptions } from './bus.ts';
import { drainHost } from './drain.ts';
import { openCaller } from './invoke.ts';
import { watchPlacement } from './placement.ts';
import { checkProbe, PROBE, type Probe } from './probe.ts';
import { openSchedulerReminders, type SchedulerReminders } from './reminders.ts';
import { reportOf } from './report.ts';
import { openHostServer } from './server.ts';
import { openSidecar, type Sidecar } from './sidecar.ts';
import { startRearming } from './rearm-reminders.ts';
import { openState } from './state.ts';

export interface DaprEngineOptions {
  /**
   * Ports of the sidecar (`DAPR_HTTP_PORT`, `DAPR_GRPC_PORT`), and the one where it calls this process (`--app-port`).
   */
  httpPort: number;
  grpcPort: number;
  appPort: number;
  /** What the sidecar asks of us (`DAPR_API_TOKEN`), and what it must show us (`APP_API_TOKEN`). */
  apiToken: string | undefined;
  appToken: string | undefined;
  /** What processes of this instance show each other with a call; others reach only what contracts open to them. */
  callerToken: string;
  clock: Clock;
  log: RuntimeLog;
  sql: Database;
  /** Of this start of this process. */
  incarnation: string;
  /** Every actor type there is, hosted here or not. */
  types: readonly string[];
  /** Calls are spans, and continue in the host that runs them. */
  tracing?: Tracing;
  /** Where placement answers `/placement/state`, for the report. */
  placementHealthUrl?: string | undefined;
  /** How the sidecar probes this host, as its flags say. */
  probe?: Probe;
  /** The limit of a turn that the host was made with. */
  turnMs?: number;
  /** A reminder whose callback failed comes again after this long. */
  retryMs?: number;
  /** Calls and registrations that fail are repeated this long. */
  repeatMs?: number;
  /** A caller waits at most this long. */
  patienceMs?: number;
  /** How long `host` waits for the sidecar. */
  readyMs?: number;
}

export interface DaprEngine extends Engine {
  readonly bus: Bus;
  /** Ends when the sidecar can pass calls on; rejects after `readyMs`. */
  ready(): Promise<void>;
  /** Ends the connections to the sidecar. After the host's disposal, before the database. */
  close(): Promise<void>;
}

/** A turn may last 2 s; a round cuts what lasts longer than this, and every caller of the type waits for it. */
const DRAIN_MS = 3_000;
const TURN_MS = 2_000;
/** Daprd's own idle time. The host drops memory earlier, by its own limit. */
const IDLE_MS = 60 * 60_000;
const LANE = ' report';
const LOOK_MS = 100;
const COUNT_MS = 10_000;

async function waitFor(sidecar: Sidecar, path: string, ms: number, clock: Clock): Promise<void> {
  const started = clock.monotonic();
  for (;;) {
    const status = await sidecar.ask(LANE, { method: 'GET', path }).then(
      (answer) => answer.status,
      (error: Error) => error.message,
    );
    if (status === 204 || status === 200) return;
    if (clock.monotonic() - started > ms)
      throw new Error(
        `The Dapr sidecar was not ready within ${Math.round(ms / 1_000)} s (${path}: ${status}). Is daprd running, ` +
          'can it reach placement, scheduler and its components, and does --app-port name this process?',
      );
    await clock.sleep(LOOK_MS);
  }
}

/** By this clock reminders are due, whatever that of the machine says. */
async function databaseNow(sql: Database): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`;
  return row!.ms;
}

/** What one process knows of its sidecar, and of the host that it serves. */
interface Link {
  readonly options: DaprEngineOptions;
  readonly probe: Probe;
  readonly readyMs: number;
  readonly sidecar: Sidecar;
  readonly reminders: SchedulerReminders;
  readonly bus: Bus & Subscriptions;
  readonly hold: Hold;
  /** Actor types that may be called. */
  readonly known: Set<string>;
  hosted: Host | undefined;
  /** Hosted, and drained: what was still under way is handed back. */
  left: boolean;
  heartbeat: HeartbeatLoop | undefined;
  counted: { at: number; answer: Promise<ReminderCounts | undefined> } | undefined;
}

const away = () =>
  new AppError('unavailable', 'Actors cannot be reached at the moment, try again shortly', { retryAfterMs: 5_000 });

async function setReminders(link: Link, list: readonly Reminder[]): Promise<void> {
  for (const { name, due, ...to } of list) {
    checkReminder(to, name);
    if (Number.isNaN(due.getTime())) throw invalidField('due', 'must be a date', 'invalid');
  }
  if (link.left) throw draining();
  const foreign = list.find(({ type }) => !link.hosted?.types.includes(type));
  if (foreign)
    throw new Error(
      `Reminders of ${foreign.type} can only be set by a process that hosts it: ` +
        'call a method of the actor, and let it set the reminder',
    );
  link.counted = undefined;
  await link.reminders.register(list);
}

async function forgetReminder(link: Link, to: Address, name: string): Promise<void> {
  checkReminder(to, name);
  link.counted = undefined;
  await link.reminders.unregister(to, name);
}

/**
 * The scheduler has no count: it lists every reminder. One list serves everybody who asks within ten seconds, unless
 * this process changed it.
 */
async function countScheduled(link: Link): Promise<ReminderCounts | undefined> {
  const { hosted, reminders } = link;
  const { clock, log } = link.options;
  if (!hosted) return undefined;
  if (!link.counted || clock.monotonic() - link.counted.at > COUNT_MS) {
    const answer = reminders.count(hosted.types).catch((error: unknown) => {
      log.warn({ err: error }, 'reminders could not be counted');
      return undefined;
    });
    link.counted = { at: clock.monotonic(), answer };
  }
  return link.counted.answer;
}

/** Serves the sidecar's calls until it is disposed of, which drains the host. */
async function startHosting(link: Link, host: Host, options?: HostingOptions): Promise<AsyncDisposable> {
  const { sidecar, reminders, probe, hold, bus } = link;
  const { appPort, appToken, callerToken, clock, log, sql, incarnation } = link.options;
  const server = openHostServer({
    host,
    subscriptions: bus,
    port: appPort,
    token: appToken,
    callerToken,
    log,
    tracing: link.options.tracing,
    idleMs: IDLE_MS,
    drainMs: DRAIN_MS,
    now: clock.monotonic,
  });
  await endOutage({ sql: hold.session, log, ...options }); // before the sidecar can call an actor
  await server.listen();
  let rearming: AsyncDisposable | undefined;
  const leave = async (properly: boolean) => {
    const stopped = rearming?.[Symbol.asyncDispose]();
    if (properly) await drainHost({ host, server, reminders, probe, clock, log });
    await stopped;
    await link.heartbeat?.[Symbol.asyncDispose]();
    await server.close();
    link.heartbeat = undefined;
    link.hosted = undefined;
    link.left = true;
  };
  try {
    await waitFor(sidecar, '/v1.0/healthz', link.readyMs, clock);
    link.heartbeat = await startHeartbeat({
      sql: hold.session,
      clock,
      log,
      incarnation,
      engine: 'dapr',
      address: `127.0.0.1:${appPort}`,
      host,
      ...options,
    });
    if (host.types.length > 0)
      rearming = startRearming({ reminders, types: host.types, sql, holder: incarnation, clock, log });
  } catch (error) {
    await leave(false);
    throw error;
  }
  let leaving: Promise<void> | undefined;
  return { [Symbol.asyncDispose]: () => (leaving ??= leave(true)) };
}

/**
 * The engine of many processes: this one beside its own daprd. Starts nothing and waits for nothing before `host` or
 * the first call.
 */
export async function openDaprEngine(options: DaprEngineOptions): Promise<DaprEngine> {
  const { clock, log, probe = PROBE, repeatMs = 5_000, readyMs = 60_000 } = options;
  checkProbe(probe, options.turnMs ?? TURN_MS);
  const hold = await holdDatabase({ sql: options.sql, mode: 'shared', clock, log });
  const sidecar = openSidecar({ port: options.httpPort, token: options.apiToken });
  const reminders = await openSchedulerReminders({
    port: options.grpcPort,
    token: options.apiToken,
    clock,
    now: () => databaseNow(options.sql),
    retryMs: options.retryMs ?? 5_000,
    repeatMs,
  });
  const bus = openDaprBus({ sidecar, log });
  const known = new Set(options.types);
  const caller = openCaller({
    sidecar,
    clock,
    log,
    callerToken: options.callerToken,
    repeatMs,
    patienceMs: options.patienceMs ?? 30_000,
    traceparent: () => options.tracing?.traceparent(),
    isType: (type) => known.has(type),
  });
  const placement = watchPlacement({ sidecar, clock, log });
  const link: Link = {
    options,
    probe,
    readyMs,
    sidecar,
    reminders,
    bus,
    hold,
    known,
    hosted: undefined,
    left: false,
    heartbeat: undefined,
    counted: undefined,
  };
  const remind = (list: readonly Reminder[]) => setReminders(link, list);
  const remindAfter = (list: readonly Reminder[]) =>
    void remind(list).catch((error: unknown) =>
      log.warn(
        { reminders: list.length, err: error },
        'reminders were not set after a commit; the reconciler finds the rows',
      ),
    );
  const forget = (to: Address, name: string) => forgetReminder(link, to, name);

  return {
    name: 'dapr',
    batchBytes: 1_000_000,
    bus,
    async invoke(to, method, input) {
      checkAddress(to);
      return placement.race(() => caller.invoke(to, method, input), away);
    },
    remind,
    remindWithin: async (_transaction, list) => () => remindAfter(list),
    remindIn: (transaction) => transaction``,
    reminded: (list) => list.length > 0 && remindAfter(list),
    forget,
    async host(host, hosting) {
      if (link.hosted) throw new Error('This process hosts already');
      for (const type of host.types) known.add(type);
      link.hosted = host;
      host.attach({ remind, forget, ...openState(sidecar) });
      return startHosting(link, host, hosting);
    },
    heartbeatAgeMs: () => link.heartbeat?.heartbeatAgeMs() ?? Number.POSITIVE_INFINITY,
    steadySince: () => link.heartbeat?.steadySince() ?? Number.POSITIVE_INFINITY,
    reminderCounts: () => countScheduled(link),
    runtimeReport: () => reportOf(sidecar, options.placementHealthUrl),
    ready: () => waitFor(sidecar, '/v1.0/healthz/outbound', readyMs, clock),
    isAway: placement.isAway,
    async close() {
      placement.close();
      caller.close();
      reminders.close();
      await sidecar.close();
      await hold[Symbol.asyncDispose]();
    },
  };
}
