import type { PostsDeps } from '../deps.ts';
import type { ClaimedPost } from './attempt.ts';
import { LONGEST_BEHIND_MS, LOOK_MS } from './without-slot.ts';

/** Posts that this host works on itself (not those at their networks, or in line for them) when it counts as busy. */
const MANY = 64;

/** A post is late when it is claimed so long after its time; a host is behind that claims so many late ones so fast. */
const LATE_MS = 250;
const MANY_LATE = 32;
const WITHIN_MS = 250;

/** Notes a post that this host has claimed. */
export function noteClaimed({ clock, inHand }: PostsDeps, { postId, lateMs }: ClaimedPost): void {
  inHand.claimed.add(postId);
  if (lateMs < LATE_MS) return;
  inHand.lateClaims.push(clock.monotonic());
  if (inHand.lateClaims.length > MANY_LATE) inHand.lateClaims.shift();
}

/**
 * Waits while this host is busy or behind with posts that are due, half a minute at most: what follows posts has time,
 * and would make them late. False: the host goes away, nothing more should begin.
 */
export async function waitBehindPosts(deps: PostsDeps): Promise<boolean> {
  const { inHand } = deps;
  if (isBusy(deps)) await (inHand.calm ??= untilCalm(deps)); // one look for all who wait
  return !inHand.leaving.signal.aborted;
}

const isBusy = ({ clock, inHand, sender }: PostsDeps): boolean =>
  inHand.claimed.size - sender.inFlight - sender.waiting > MANY ||
  (inHand.lateClaims.length === MANY_LATE && clock.monotonic() - inHand.lateClaims[0]! < WITHIN_MS);

async function untilCalm(deps: PostsDeps): Promise<void> {
  const { clock, inHand } = deps;
  const since = clock.monotonic();
  while (isBusy(deps) && !inHand.leaving.signal.aborted && clock.monotonic() - since < LONGEST_BEHIND_MS)
    await clock.sleep(LOOK_MS);
  inHand.calm = undefined;
}
