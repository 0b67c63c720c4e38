import type { PostsDeps } from '../deps.ts';
import { LONGEST_BEHIND_MS, LOOK_MS } from './without-slot.ts';

/** Posts that this host works on itself (not those at their networks, or in line for them) when it counts as busy. */
const MANY = 64;

/**
 * Waits while this host is busy with posts that are due, half a minute at most: what follows posts has time, and would
 * make them late. False: the host goes away, nothing more should begin.
 */
export async function waitBehindPosts(deps: PostsDeps): Promise<boolean> {
  const { inHand } = deps;
  if (isBusy(deps)) await (inHand.calm ??= untilCalm(deps)); // one look for all who wait
  return !inHand.leaving.signal.aborted;
}

const isBusy = ({ inHand, sender }: PostsDeps): boolean =>
  inHand.claimed.size - sender.inFlight - sender.waiting > MANY;

async function untilCalm(deps: PostsDeps): Promise<void> {
  const { clock, inHand } = deps;
  const since = clock.monotonic();
  while (isBusy(deps) && !inHand.leaving.signal.aborted && clock.monotonic() - since < LONGEST_BEHIND_MS)
    await clock.sleep(LOOK_MS);
  inHand.calm = undefined;
}
