import type { ClaimColumns } from '../row.ts';
import type { ClaimedPost } from './attempt.ts';

type Saved = Pick<ClaimedPost, 'saved' | 'savedMs' | 'isPrepared' | 'isCounted'>;

/** How long an attempt can use what was prepared ahead for it: networks drop what nobody publishes. */
const AHEAD_KEPT_MS = 3_600_000;

/** What an attempt can use of what was saved: nothing of what was prepared ahead for it, if it comes too late for that. */
export function savedOf({
  saved,
  savedMs,
  attempt,
  claimedAt,
}: Pick<ClaimColumns, 'saved' | 'attempt' | 'claimedAt'> & { savedMs: number | null }): Saved {
  const ahead = saved?.ahead?.attempt === attempt ? saved.ahead : undefined; // what an attempt has used stays
  if (ahead && claimedAt.getTime() - Date.parse(ahead.at) > AHEAD_KEPT_MS)
    return { saved: undefined, savedMs: 0, isPrepared: false, isCounted: false };
  return {
    saved: saved?.value,
    savedMs: savedMs ?? 0,
    isPrepared: ahead?.isReady ?? false,
    isCounted: saved !== null && saved.ahead === undefined,
  };
}
