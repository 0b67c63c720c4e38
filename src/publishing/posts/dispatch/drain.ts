import type { PostsDeps } from '../deps.ts';
import { settle } from '../outcomes.ts';
import { OVER } from './work.ts';

/** How long calls under way may go on when the host goes away. */
const DRAIN_MS = 8_000;

/**
 * Sends nothing more: frees slots whose request has not left, gives calls under way 8 s, hands back what only the steps
 * before publishing were made for, from where they are, and writes the rest as unconfirmed.
 */
export async function drainPosts(deps: PostsDeps): Promise<void> {
  const { sql, clock, sender, inHand, log } = deps;
  sender.close();
  inHand.leaving.abort();
  const patience = new AbortController();
  await Promise.race([quiet(deps), clock.sleep(DRAIN_MS, patience.signal).catch(() => {})]);
  patience.abort();
  await Promise.all(
    sender.underWay().map(async ({ claimed, stage, ended }) => {
      const isOut = stage === 'publishing';
      const message = 'This host went away while it was sending';
      try {
        await deps.settle(sql, settle(claimed, isOut ? { kind: 'lost', message } : { kind: 'not-sent' }));
        if (!isOut) ended.abort(OVER); // another host goes on
      } catch (error) {
        log.error({ err: error, postId: claimed.postId }, 'releasing a slot failed, left to the reconciler');
      }
    }),
  );
}

/** Ends when nothing is being sent or written. */
async function quiet({ clock, inHand: { work } }: PostsDeps): Promise<void> {
  while (work.size > 0) {
    await Promise.allSettled(work);
    await clock.sleep(5); // who reports a result starts writing it now
  }
}
