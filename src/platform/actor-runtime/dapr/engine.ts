import type { Database } from '../../db/index.ts';
import { AppError } from '../../kernel/index.ts';
import { checkAddress } from '../address.ts';
import { holdDatabase } from '../database-lock.ts';
import type { Address, Reminder } from '../engine.ts';
import { openDaprBus } from './bus.ts';
import { countScheduled, forgetReminder, setReminders } from './hosted-reminders.ts';
import { startHosting } from './hosting.ts';
import { openCaller } from './invoke.ts';
import type { SidecarLink } from './link.ts';
import type { DaprEngine, DaprEngineOptions } from './options.ts';
import { watchPlacement } from './placement.ts';
import { checkProbe, PROBE } from './probe.ts';
import { openSchedulerReminders } from './reminders.ts';
import { reportOf } from './report.ts';
import { openSidecar, waitForSidecar } from './sidecar.ts';
import { openState } from './state.ts';

/** How long a turn may last, where the host was not made with another limit. */
const TURN_MS = 2_000;

/** By this clock reminders are due, whatever that of the machine says. */
async function databaseNow(sql: Database): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`;
  return row!.ms;
}

const away = () =>
  new AppError('unavailable', 'Actors cannot be reached at the moment, try again shortly', { retryAfterMs: 5_000 });

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
  const link: SidecarLink = {
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
    isAlone: false,
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
    ready: () => waitForSidecar(sidecar, '/v1.0/healthz/outbound', readyMs, clock),
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
