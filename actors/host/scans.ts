import { type Actors, type Reminder, reminderOf } from '../../src/platform/actor-runtime/index.ts';
import { asAppError, tenantKey } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { Posts } from '../../src/publishing/posts/index.ts';
import type { FollowUps } from '../../src/publishing/follow-ups/index.ts';
import type { Webhooks } from '../../src/delivery/webhooks/index.ts';
import { channelActor } from '../channel/contract.ts';
import { organizationActor } from '../organization/contract.ts';
import { LOOK_UPS, postActor } from '../post/contract.ts';
import { webhookActor } from '../webhook/contract.ts';

export interface ScansOptions {
  posts: { sweeps: Pick<Posts['sweeps'], 'takeOver' | 'overdue' | 'enter' | 'unasked' | 'pending'> };
  followUps: Pick<FollowUps, 'overdueFollowUps'>;
  webhooks: Pick<Webhooks, 'overdue'>;
  actors: Actors;
  remind: (reminders: readonly Reminder[]) => Promise<void>;
  log: Log;
  limit: number;
}
/** How much of each kind of work a sweep found. */
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

/** Of a sweep that found nothing. */
export const NOTHING: Found = {
  takenOver: 0,
  woken: 0,
  entered: 0,
  asked: 0,
  prepared: 0,
  series: 0,
  delivering: 0,
  followed: 0,
};

/** Looks for one kind of work, counts it, and brings it on; answers how many rows it saw. */
export type Scan = (found: Found) => Promise<number>;

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
  (remind: ScansOptions['remind']) =>
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

export type ScanName = keyof ReturnType<typeof openScans>;

/** The scans of the reconciler, in the order in which a sweep makes them. */
export function openScans({ posts: { sweeps }, followUps, webhooks, actors, remind, log, limit }: ScansOptions) {
  const told = tellerOf(log);
  const remindPosts = reminding(remind);
  return { takeOver, wakeOverdue, enter, askAgain, deliver, goOn, follow } satisfies Record<string, Scan>;

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
}
