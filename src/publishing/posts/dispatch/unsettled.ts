import type { PostsDeps } from '../deps.ts';
import { getPost } from '../reading/find.ts';
import type { ClaimedPost, AttemptOutcome } from './attempt.ts';
import { claimLookUp, lastAttempt, waitsFor } from './look-up-store.ts';

/** A look-up that was begun is asked again after this long by whoever finds that nobody asks it. */
const LOOK_UP_LEASE_MS = 15_000;

/** The attempt of a post that still waits for this look-up, while nobody here makes it. */
export async function findUnsettled(
  { sql, inHand }: PostsDeps,
  orgId: string,
  postId: string,
  detail: 'unconfirmed' | 'processing',
): Promise<ClaimedPost | undefined> {
  const claimed = await claimLookUp(sql, orgId, postId, detail, LOOK_UP_LEASE_MS);
  return inHand.lookedUp.has(postId) ? undefined : claimed;
}

/** Asks the network; undefined: it is being asked already. */
export async function lookUp(
  { sender, inHand: { lookedUp } }: PostsDeps,
  claimed: ClaimedPost,
  about: 'unconfirmed' | 'processing',
): Promise<AttemptOutcome | undefined> {
  if (lookedUp.has(claimed.postId)) return undefined;
  lookedUp.add(claimed.postId);
  try {
    return await sender.lookUp(claimed, about);
  } catch (error) {
    lookedUp.delete(claimed.postId);
    throw error;
  }
}

/** Posts on the network that may be this one, for a post whose release is not known (S118). */
export async function findMissing(
  deps: PostsDeps,
  orgId: string,
  postId: string,
): Promise<{ id: string; url: string }[]> {
  const { sql, sender } = deps;
  const rows = await getPost(deps, orgId, postId);
  const post = rows.find(({ id }) => id === postId)!;
  if (post.state === 'PUBLISHED' && post.releaseId) return [];
  const claimed = (await waitsFor(sql, orgId, postId, 'unconfirmed')) ?? (await lastAttempt(sql, orgId, postId));
  const outcome = claimed && (await sender.lookUp(claimed, 'unconfirmed'));
  if (outcome?.kind === 'published') return [{ id: outcome.release.id, url: outcome.release.url }];
  return outcome?.kind === 'undecided' ? [...(outcome.similar ?? [])] : [];
}
