import { deleteEnded } from './campaigns/store.ts';
import { cleanStoredContents } from './authoring/clean.ts';
import { dropOldPlans } from './authoring/plan-store.ts';
import { seriesWork } from './authoring/series-scans.ts';
import type { PostsDeps } from './deps.ts';
import { unpreparedPosts } from './dispatch/preparable.ts';
import { preparableBy } from './dispatch/preparations.ts';
import { dropOldCircuits } from './dispatch/circuit-store.ts';
import { dropEndedPaces } from './dispatch/pace.ts';
import * as recover from './dispatch/recover.ts';
import { signsOfWork } from './dispatch/signs.ts';
import { dropOldLateness } from './gauges.ts';
import { dropDeletedPosts } from './retention.ts';
import { HEARTBEAT_TIMEOUT_MS, UNCONFIRMED_LEASE_MS } from './rules.ts';

// What the reconciler and the sweeper ask for and do, over all organizations; each looks at `limit` rows at most.

/** A condition for each scan below that the reconciler makes: where it does not hold, the scan finds nothing. */
export const signs = ({ sql, options: { horizonMs } }: PostsDeps) => signsOfWork(sql, horizonMs);

/** Takes over slots of silent hosts and slots past their deadline. */
export const takeOver = ({ sql, incarnation }: PostsDeps, limit: number): Promise<recover.TakenOver[]> =>
  recover.takeOverSlots(sql, { incarnation, silenceMs: HEARTBEAT_TIMEOUT_MS, leaseMs: UNCONFIRMED_LEASE_MS, limit });

/** Channels that were due 5 s ago and that nobody works on. */
export const overdue = ({ sql }: PostsDeps, limit: number): Promise<{ orgId: string; channelId: string }[]> =>
  recover.findOverdueChannels(sql, { graceMs: HEARTBEAT_TIMEOUT_MS, limit });

/** Registers reminders of channels that came within the horizon; answers how many. */
export const enter = ({ sql, reminders, options: { horizonMs } }: PostsDeps, limit: number): Promise<number> =>
  recover.registerReminders(sql, reminders, { horizonMs, limit });

/** Posts whose look-up or poll was due 5 s ago. */
export const unasked = ({ sql }: PostsDeps, limit: number): Promise<recover.Unsettled[]> =>
  recover.findUnasked(sql, { graceMs: HEARTBEAT_TIMEOUT_MS, limit });

/** A post that something is to be done for beside its publishing. `now`: by the database's clock. */
export interface PendingWork {
  /** `repeat`: its series goes on from it, `release`: the plan may have room for it by now. */
  work: 'prepare' | 'repeat' | 'release';
  orgId: string;
  postId: string;
  now: Date;
}
/**
 * Posts that nobody prepares ahead of their publish date, which is near, and posts that a series waits for; `limit` of
 * each kind. One statement, because every sweep makes it.
 */
export const pending = (deps: PostsDeps, limit: number): Promise<PendingWork[]> => deps.sql<PendingWork[]>`
  /* all orgs */
  ${unpreparedPosts(deps.sql, preparableBy(deps), limit)}
  union all
  ${seriesWork(deps.sql, limit)}`;

/** Forgets minutes of lateness that no figure needs; answers how many. */
export const dropLateness = ({ sql }: PostsDeps, limit: number): Promise<number> => dropOldLateness(sql, limit);

/** Forgets windows of paces that have ended; answers how many. */
export const dropPaces = ({ sql }: PostsDeps, limit: number): Promise<number> => dropEndedPaces(sql, limit);

/** Forgets circuits that no post has asked for in a day; answers how many. */
export const dropCircuits = ({ sql }: PostsDeps, limit: number): Promise<number> => dropOldCircuits(sql, limit);

/** Cleans contents that an earlier release stored as they came; answers how many. */
export const cleanOldContents = ({ sql }: PostsDeps, limit: number): Promise<number> => cleanStoredContents(sql, limit);

/** Forgets posts that were deleted `deletedDays` ago; answers how many. */
export const dropDeleted = ({ sql, options: { deletedDays } }: PostsDeps, limit: number): Promise<number> =>
  dropDeletedPosts(sql, deletedDays, limit);

/** Deletes campaigns whose last day was `campaignDays` ago; their posts stay. Answers how many. */
export const purgeCampaigns = ({ sql, options: { campaignDays } }: PostsDeps, limit: number): Promise<number> =>
  deleteEnded(sql, campaignDays, limit);

/** Forgets plans of bulk creates that are a day old; answers how many. */
export const dropPlans = ({ sql }: PostsDeps, limit: number): Promise<number> => dropOldPlans(sql, limit);
