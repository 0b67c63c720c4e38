import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Connected, Paced } from './channels-port.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * How long one publish may take, all its steps together, and how long its slot is held without news. One with files has
 * the time for their bytes as well, for as long as its host knows that it holds the slot: it is broken off `CALL_MS`
 * after the last sign of that, so that nothing arrives at a network later than this after another host took over.
 */
export const CALL_MS = 60 * SECOND;
export const LONGEST_CALL_MS = 30 * MINUTE;
export const SLOT_LEASE_MS = 2 * CALL_MS;
/** How long an unconfirmed post keeps its channel from the next one. */
export const UNCONFIRMED_LEASE_MS = MINUTE;
/** No call is made when the last heartbeat is older; others take over after `HEARTBEAT_TIMEOUT_MS`. */
export const HEARTBEAT_FRESH_MS = 4 * SECOND;
export const HEARTBEAT_TIMEOUT_MS = 5 * SECOND;
/** Clocks of a network and of the database may differ by this much. */
export const SKEW_MS = 30 * SECOND;

/** How long before its publish date a post is prepared, and how long at least: later ones are left to their attempt. */
export const AHEAD_MS = 15 * MINUTE;
export const LEAST_AHEAD_MS = MINUTE;
/** Items behind a root that is late are prepared for so long after its date, and then when the item before is out. */
export const LATE_ROOT_MS = HOUR;
/** What is ready so long before it goes out is made ready again: what was saved is used within an hour. */
export const READY_TOO_EARLY_MS = 45 * MINUTE;
/** How long somebody prepares a post without a sign of life. */
export const AHEAD_LEASE_MS = 2 * MINUTE;
/** When to prepare a post again after a failure, or undefined: its attempt does. */
export function prepareAgainDelay(failure: ProviderFailure, retryAfterMs?: number): number | undefined {
  const delay = retryDelay(0, failure === 'lost' ? 'unavailable' : failure, retryAfterMs);
  return delay === undefined ? undefined : Math.max(delay, 2 * MINUTE);
}

const RETRIES = [10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR] as const;
/**
 * How long to wait before the next attempt, or undefined: give up. `failed` counts the attempts that failed before this
 * one.
 */
export function retryDelay(
  failed: number,
  failure: ProviderFailure | 'absent' | 'expired',
  retryAfterMs?: number,
): number | undefined {
  if (!['unavailable', 'rate_limited', 'absent', 'expired'].includes(failure)) return undefined;
  const usual = RETRIES[failed];
  if (usual === undefined) return undefined;
  if (failure === 'absent') return 0; // looked for long enough and not there: at once
  if (retryAfterMs === undefined) return usual;
  // as the network says, and longer where that was not enough
  return Math.min(Math.max(retryAfterMs, RETRIES[failed - 1] ?? SECOND), 24 * HOUR);
}

const LOOK_UPS = [2, 4, 8, 15, 30, 60, 120, 300, 300, 600, 900, 1_800, 1_800, 3_600].map((seconds) => seconds * SECOND);
/** When to ask the network again that did not say, or undefined: a person decides. */
export const lookUpDelay = (lookUps: number): number | undefined => LOOK_UPS[lookUps];
/** How long a network may work on a post whose adapter does not say, and how long it may take to get ready for one. */
export const PROCESSES_WITHIN_MS = 24 * HOUR;
/** When to poll again a network that has worked for `sinceMs`: as its adapter says, and more seldom what takes long. */
export const pollDelay = (processingMs: number, sinceMs: number): number =>
  Math.max(processingMs, Math.min(Math.round(sinceMs / 20), 5 * MINUTE));

/**
 * Whether a post that the network does not have will not appear there any more. An id or key of our own makes a second
 * send harmless, unless the adapter says otherwise.
 */
export function settles({
  once,
  timeoutMs,
  settlesWithinMs,
}: Pick<Connected, 'once' | 'timeoutMs' | 'settlesWithinMs'>): number {
  if (settlesWithinMs !== undefined) return settlesWithinMs;
  return once === 'key' || once === 'own-id' ? 0 : (timeoutMs ?? CALL_MS) + 10 * SECOND;
}

/**
 * How long after it is noted that its answer is missing a request may still arrive at its network. Where a second one is
 * harmless, the post is sent again before that is over; for everybody else it is on its way until then.
 */
export function arrivesWithin({
  once,
  timeoutMs,
  settlesWithinMs,
}: Pick<Connected, 'once' | 'timeoutMs' | 'settlesWithinMs'>): number {
  const settled = settles({ once, timeoutMs, settlesWithinMs });
  return once === 'key' || once === 'own-id' ? Math.max(settled, settles({ once: 'read-back', timeoutMs })) : settled;
}
/** A network that has shown nothing is asked again after so long at the most. */
export const ASK_AGAIN_MS = 10 * SECOND;

/** The windows in which something counts; without `made`: those in which all counts that a channel makes. */
export const pacesFor = <P extends Pick<Paced, 'of'>>(paces: readonly P[], made?: Paced['of']): P[] =>
  paces.filter(({ of }) => of === undefined || of === made);

/** A post is not sent by accident when its date is so long ago. */
export const PAST_MS = 24 * HOUR;
/** Whether a date is too long ago to be sent by accident (S104). */
export const tooLongAgo = (date: Date, now: Date): boolean => now.getTime() - date.getTime() > PAST_MS;
