import type { Context } from '../../src/context.ts';
import { createHost, type Host } from '../../src/platform/actor-runtime/index.ts';
import { findTrue, openLease } from '../../src/platform/db/index.ts';
import { atMost } from '../../src/platform/flow/index.ts';
import { startListeners } from '../../src/platform/outbox/index.ts';
import channel from '../channel/actor.ts';
import { measureHost } from './gauges.ts';
import organization from '../organization/actor.ts';
import post from '../post/actor.ts';
import { type Reconciler, startReconciler } from './reconciler.ts';
import { type Sweeper, startSweeper } from './sweeper.ts';
import webhook from '../webhook/actor.ts';
import { wakeWebhooks } from '../webhook/subscribe.ts';

const implementations = [organization, channel, post, webhook];
/**
 * What a process held that died is found within ten seconds: after its silence of five by a sweep of another one, at the
 * latest 4.5 s later; where it was the one that sweeps, when its lease is over, by a look that comes every 2.25 s. An
 * engine that is alone has no other host to wait for, and sweeps as it starts.
 */
const RECONCILE_MS = 4_500;
const RECONCILER_LEASE_SECONDS = 7;
const SWEEPER_LEASE_SECONDS = 120;
/** For deliveries under way at the end, and for a scan or a sweep that asks a network, as long as posts have. */
const DRAIN_MS = 8_000;
/** For all of the end: what still runs then waits for calls whose posts are written down. */
const END_MS = 8_500;

/** Between two looks for facts where nobody else writes any, and this process wrote none. */
const QUIET_MS = 5_000;

/** Found by the scan that begins it: nothing was left behind. */
const BEGUN_BY_SCANS: ReadonlySet<string> = new Set(['prepared', 'series']);

/** Every actor type there is. */
export const actorTypes: readonly string[] = implementations.map(({ contract }) => contract.type);

/**
 * The actors of this process while they work. Disposing of it drains: no turn starts, calls under way end or are
 * written as unconfirmed. A sweep that still asks a network then is left: it is made again by another process.
 */
export interface ActorHost extends AsyncDisposable {
  readonly host: Host;
  readonly reconciler: Reconciler;
  readonly sweeper: Sweeper;
  /**
   * Begins the end while turns are still taken, as requests under way need them: nothing more is sent or delivered. For a
   * process that also has the API; disposing of it does this too.
   */
  leave(): Promise<void>;
}

/** Which scans of the reconciler may find something, in one statement. */
function signsOf({ sql, posts, followUps, webhooks }: Pick<Context, 'sql' | 'posts' | 'followUps' | 'webhooks'>) {
  const { takeOver, overdue, enter, unasked, pending } = posts.sweeps.signs();
  return findTrue(sql, {
    takeOver,
    wakeOverdue: overdue,
    enter,
    askAgain: unasked,
    deliver: webhooks.overdueSign(),
    goOn: pending,
    follow: followUps.overdueSign(),
  });
}

/**
 * Starts an actor host: turns, the reconciler, and the listeners, sweeps and workers of the wings. `reconcileMs`:
 * between two rounds of the reconciler; a test that makes them itself sets it.
 */
export async function startActors(
  context: Context,
  { reconcileMs }: { reconcileMs?: number } = {},
): Promise<ActorHost> {
  const {
    engine,
    bus,
    actors,
    clock,
    logs,
    sql,
    posts,
    followUps,
    webhooks,
    metrics,
    incarnation,
    sweeps,
    listeners,
    workers,
    tracing,
  } = context;
  const log = logs.of('actors');
  const host = createHost({ implementations, needs: context, actors, clock, log, tracing });
  measureHost(metrics, host);
  wakeWebhooks({ bus, actors, log });
  const hearing = startListeners({
    sql,
    clock,
    bus,
    listeners,
    holder: incarnation,
    log: logs.of('outbox'),
    ...(engine.isAlone && { quietMs: QUIET_MS }),
  });
  const hosting = await engine.host(host, { afterOutage: (outage) => posts.judgeMissed(outage) });
  const reconciler = startReconciler({
    signs: () => signsOf(context),
    posts,
    followUps,
    webhooks,
    actors,
    clock,
    heartbeat: engine,
    log,
    remind: (reminders) => engine.remind(reminders),
    lease: openLease({ sql, name: 'reconciler', holder: incarnation, seconds: RECONCILER_LEASE_SECONDS }),
    intervalMs: reconcileMs ?? RECONCILE_MS,
    firstMs: reconcileMs ?? (engine.isAlone ? 0 : RECONCILE_MS),
    onFound: (found) =>
      Object.entries(found).forEach(([kind, n]) => !BEGUN_BY_SCANS.has(kind) && metrics.found.inc({ kind }, n)),
  });
  const sweeper = startSweeper({
    sql,
    clock,
    log,
    sweeps,
    lease: openLease({ sql, name: 'sweeper', holder: incarnation, seconds: SWEEPER_LEASE_SECONDS }),
  });
  const working = workers.map((start) => start());
  let left: { since: number; done: Promise<void> } | undefined;
  async function handOver(): Promise<void> {
    // side by side: a sweep may ask a network for as long as the process has, and must not hold up the posts
    const scans = () => Promise.all([reconciler[Symbol.asyncDispose](), sweeper[Symbol.asyncDispose]()]);
    await Promise.all([
      atMost(clock, DRAIN_MS, scans).then((ended) => ended || log.warn({}, 'a sweep did not end in time and is left')),
      posts.drainPosts(),
      webhooks.drain(DRAIN_MS),
      ...working.map((worker) => worker?.[Symbol.asyncDispose]()),
    ]);
  }
  const leave = () => (left ??= { since: clock.monotonic(), done: handOver() });

  return {
    host,
    reconciler,
    sweeper,
    leave: () => leave().done,
    async [Symbol.asyncDispose]() {
      const { since, done } = leave();
      const endMs = Math.max(0, since + END_MS - clock.monotonic());
      const [ended] = await Promise.all([atMost(clock, endMs, async () => hosting[Symbol.asyncDispose]()), done]);
      if (!ended) log.warn({}, 'the host did not end in time and is left');
      await hearing[Symbol.asyncDispose]();
    },
  };
}
