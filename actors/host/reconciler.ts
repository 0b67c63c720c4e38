import { type Actors, type Reminder, reminderOf } from '../../src/platform/actor-runtime/index.ts';
import { isUnavailable, type Lease } from '../../src/platform/db/index.ts';
import { startLoop } from '../../src/platform/flow/index.ts';
import { asAppError, type Clock, tenantKey } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import { type Heartbeat, HEARTBEAT_TIMEOUT_MS, type Posts } from '../../src/publishing/posts/index.ts';
import type { FollowUps } from '../../src/publishing/follow-ups/index.ts';
import type { Webhooks } from '../../src/delivery/webhooks/index.ts';
import { channelActor } from '../channel/contract.ts';
import { organizationActor } from '../organization/contract.ts';
import { LOOK_UPS, postActor } from '../post/contract.ts';
import { webhookActor } from '../webhook/contract.ts';

export interface ReconcilerOptions {
  posts: Pick<Posts, 'sweeps'>;
  followUps: Pick<FollowUps, 'overdueFollowUps'>;
  webhooks: Pick<Webhooks, 'overdue'>;
  actors: Actors;
  remind: (reminders: readonly Reminder[]) => Promise<void>;
  /** One sweeper over all processes. */
  lease: Lease;
  clock: Clock;
  heartbeat: Heartbeat;
  log: Log;
  intervalMs?: number;
  limit?: number;
  /** Told of every sweep, before it ends. */
  onFound?: (found: Found) => void;
}
export interface Reconciler extends AsyncDisposable {
  /** One sweep; answers what it found. Tests call it, the timer does too. */
  sweep(): Promise<Found | undefined>;
}
export interface Found {
  takenOver: number;
  woken: number;
  entered: number;
  asked: number;
  prepared: number;
  series: number;
  delivering: number;
  followed: number;
}

const NOTHING: Found = {
  takenOver: 0,
  woken: 0,
  entered: 0,
  asked: 0,
  prepared: 0,
  series: 0,
  delivering: 0,
  followed: 0,
};

const ROUNDS = 20;

/** Looks for one kind of work, counts it, and brings it on; answers how many rows it saw. */
type Scan = (found: Found) => Promise<number>;

/**
 * Goes on while a scan comes back full, within reason. One that fails, as where reminders cannot be set, keeps none of
 * the others from what they find.
 */
async function scanWhole(
  scan: Scan,
  found: Found,
  { limit, signal, log }: { limit: number; signal: AbortSignal; log: Log },
): Promise<void> {
  try {
    for (let n = 0; n < ROUNDS && !signal.aborted; n++) if ((await scan(found)) < limit) return;
  } catch (error) {
    if (isUnavailable(error)) throw error; // no scan can be made, and hosts that live cannot say so
    log.warn({ err: error, scan: scan.name }, 'a scan failed and is made again');
  }
}

/** Waits for calls of actors, and says how many of them failed. */
const tellerOf = (log: Log) => async (what: string, calls: readonly Promise<unknown>[]) => {
  const failed = (await Promise.allSettled(calls)).filter((result) => result.status === 'rejected');
  if (failed.length > 0)
    log.warn(
      { what, failed: failed.length, of: calls.length, code: asAppError(failed[0]!.reason).code },
      'actors could not be woken',
    );
};
interface FoundPost {
  orgId: string;
  postId: string;
  /** By the database's clock. */
  now: Date;
}
/**
 * Has posts do what a scan found. Answers 0, as no next round is needed: the reminders have not fired yet, so that
 * another look now would find the same posts.
 */
const reminding =
  (remind: ReconcilerOptions['remind']) =>
  async <P extends FoundPost>(
    posts: readonly P[],
    nameOf: (post: P) => keyof typeof postActor.reminders,
  ): Promise<0> => {
    if (posts.length > 0)
      await remind(
        posts.map((post) =>
          reminderOf(postActor, tenantKey(post.orgId, post.postId), nameOf(post), post.now, { owner: post.orgId }),
        ),
      );
    return 0;
  };

/**
 * Finds what is due and untouched: a lost reminder, a dead host, a broken commit is a delay, never a loss. After a gap
 * of its own, when the database or this process stood still, it waits one silence, so that hosts that live can say so
 * first.
 */
export function startReconciler({
  posts: { sweeps },
  followUps,
  webhooks,
  actors,
  remind,
  lease,
  clock,
  heartbeat,
  log,
  intervalMs = 5_000,
  limit = 500,
  onFound,
}: ReconcilerOptions): Reconciler {
  const told = tellerOf(log);
  const remindPosts = reminding(remind);
  const judgesHosts = new Set<Scan>([takeOver, follow]);
  let lastEnd = clock.monotonic();
  let quietUntil = 0;

  async function sweep(): Promise<Found | undefined> {
    const now = clock.monotonic();
    if (now - lastEnd > 2 * intervalMs + HEARTBEAT_TIMEOUT_MS || heartbeat.heartbeatAgeMs() > HEARTBEAT_TIMEOUT_MS)
      quietUntil = now + HEARTBEAT_TIMEOUT_MS + 1_000;
    try {
      if (!(await lease.held())) return undefined;
      const found: Found = { ...NOTHING };
      for (const scan of [takeOver, wakeOverdue, enter, askAgain, deliver, goOn, follow])
        if (!judgesHosts.has(scan) || clock.monotonic() >= quietUntil)
          await scanWhole(scan, found, { limit, signal: loop.signal, log });
      onFound?.(found);
      return found;
    } catch (error) {
      quietUntil = clock.monotonic() + HEARTBEAT_TIMEOUT_MS + 1_000;
      throw error;
    } finally {
      lastEnd = clock.monotonic();
    }
  }

  async function takeOver(found: Found): Promise<number> {
    const taken = await sweeps.takeOver(limit);
    found.takenOver += taken.length;
    const doubtful = taken.flatMap(({ orgId, postId, now }) => (postId === null ? [] : [{ orgId, postId, now }]));
    await wake(taken.filter(({ postId }) => postId === null)); // first, as reminders may not be set
    await remindPosts(doubtful, () => LOOK_UPS.unconfirmed);
    return taken.length;
  }
  async function wakeOverdue(found: Found): Promise<number> {
    const overdue = await sweeps.overdue(limit);
    found.woken += overdue.length;
    await wake(overdue);
    return overdue.length;
  }
  async function enter(found: Found): Promise<number> {
    const entered = await sweeps.enter(limit);
    found.entered += entered;
    return entered;
  }
  async function askAgain(found: Found): Promise<number> {
    const unasked = await sweeps.unasked(limit);
    found.asked += unasked.length;
    return remindPosts(unasked, ({ detail }) => LOOK_UPS[detail]);
  }
  async function follow(found: Found): Promise<number> {
    const overdue = await followUps.overdueFollowUps(limit);
    found.followed += overdue.length;
    return remindPosts(overdue, () => 'follow-up');
  }
  /**
   * Not what was left behind: this scan is what begins preparing posts, and what makes series go on, whose next date is
   * a day away at least, so that nobody waits for it.
   */
  async function goOn(found: Found): Promise<number> {
    const pending = await sweeps.pending(limit);
    const unprepared = pending.filter(({ work }) => work === 'prepare');
    const series = pending.flatMap((one) => (one.work === 'prepare' ? [] : { ...one, work: one.work }));
    found.prepared += unprepared.length;
    found.series += series.length;
    await remindPosts(unprepared, () => 'prepare');
    await told(
      'series',
      series.map(({ orgId, postId, work }) => actors(organizationActor, orgId)[work]({ postId })),
    );
    return series.length;
  }
  async function deliver(found: Found): Promise<number> {
    const keys = await webhooks.overdue(limit);
    found.delivering += keys.length;
    await told(
      'webhooks',
      keys.map((key) => actors(webhookActor, key).deliver({})),
    );
    return 0; // they are at work now: another look would find the same ones
  }
  /** Wakes directly, not by a reminder: those may be what is lost. What cannot be woken is found again. */
  async function wake(channels: readonly { orgId: string; channelId: string }[]): Promise<void> {
    await told(
      'channels',
      channels.map(({ orgId, channelId }) => actors(channelActor, tenantKey(orgId, channelId)).wake({})),
    );
  }
  const loop = startLoop({
    clock,
    lease,
    firstRestMs: intervalMs,
    restMs: intervalMs,
    round: async () => void (await sweep()),
    onError: (error) => log.warn({ err: error }, 'a sweep failed and is made again'),
  });
  return { sweep, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
}
