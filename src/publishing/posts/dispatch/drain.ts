import type { PostsDeps } from '../deps.ts';
import { settle } from '../rules.ts';

/** How long calls under way may go on when the host goes away. */
const DRAIN_MS = 8_000;

/**
 * Sends nothing more: frees slots whose request has not left, gives calls under way 8 s, and writes the rest as
 * unconfirmed.
 */
export async function drainPosts(deps: PostsDeps): Promise<void> {
  const { sql, clock, sender, inHand, log } = deps;
  sender.close();
  inHand.leaving.abort();
  const patience = new AbortController();
  await Promise.race([quiet(deps), clock.sleep(DRAIN_MS, patience.signal).catch(() => {})]);
  patience.abort();
  const left = sender
    .underWay()
    .map(({ claimed, stage }) =>
      settle(
        claimed,
        stage === 'calling'
          ? { kind: 'lost', message: 'This host went away while it was sending' }
          : { kind: 'not-sent' },
      ),
    );
  await Promise.all(
    left.map((settlement) =>
      deps
        .settle(sql, settlement)
        .catch((error: unknown) =>
          log.error({ err: error, postId: settlement.postId }, 'releasing a slot failed, left to the reconciler'),
        ),
    ),
  );
}

/** Ends when nothing is being sent or written. */
async function quiet({ clock, inHand: { work } }: PostsDeps): Promise<void> {
  while (work.size > 0) {
    await Promise.allSettled(work);
    await clock.sleep(5); // who reports a result starts writing it now
  }
}
