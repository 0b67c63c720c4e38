import type { CommentsDeps } from './deps.ts';
import {
  CLAIM_SECONDS,
  type ClaimedSweep,
  claimSweeps,
  declareSweeps,
  endSweep,
  type ReadNetworks,
} from './due-store.ts';
import { storeComments } from './news.ts';
import { postsToRead } from './posts-store.ts';
import { readBelowPosts } from './read.ts';
import { readingOf } from './rules.ts';

/** Channels that are read side by side. */
const AT_A_TIME = 50;
/** A run begins no further round after so long, as other sweeps wait for it. */
const RUN_MS = 30_000;

/** Posts of so many days are looked at by every sweep, and once a day. */
const USUAL_DAYS = 7;
const WHOLE_DAYS = 30;

/** Reads the comments of channels that are due; answers how many were read. */
export async function sweepComments(deps: CommentsDeps, limit: number): Promise<number> {
  const { sql, clock, minutes } = deps;
  const networks = networksOf(deps);
  const since = clock.monotonic();
  await declareSweeps(sql, networks, minutes, limit);
  for (let read = 0; ;) {
    const due = await claimSweeps(sql, networks, minutes, Math.min(limit, AT_A_TIME));
    await Promise.all(due.map((sweep) => sweepChannel(deps, sweep)));
    read += due.length;
    if (due.length < AT_A_TIME || clock.monotonic() - since > RUN_MS) return Math.min(read, limit - 1); // it is not begun again at once
  }
}

function networksOf({ providers }: Pick<CommentsDeps, 'providers'>): ReadNetworks {
  const all = Map.groupBy(providers.list('social'), readingOf);
  const namesOf = (kind: 'free' | 'scarce') => (all.get(kind) ?? []).map(({ id, version }) => `${id}@${version}`);
  return { free: namesOf('free'), scarce: namesOf('scarce') };
}

/** What fails here holds up no other channel. */
async function sweepChannel(deps: CommentsDeps, sweep: ClaimedSweep): Promise<void> {
  const { sql, clock, channels, minutes, days, log } = deps;
  const heldSince = clock.monotonic();
  const adapter = channels.adapterOf(sweep.channel)!; // of one of the networks that were asked for
  try {
    const posts = await postsToRead(sql, sweep, {
      days: Math.min(sweep.isWhole ? WHOLE_DAYS : USUAL_DAYS, days),
      withItems: adapter.threads === 'message',
    });
    const caller = { ...sweep, heldSince, leaseMs: CLAIM_SECONDS * 1_000 };
    const read = await readBelowPosts(deps, caller, posts);
    if (read.failure)
      log.info({ channelId: sweep.channelId, reason: read.failure.message }, 'comments were not read to the end');
    await storeComments(deps, sweep, read, adapter);
  } catch (error) {
    log.warn({ err: error, channelId: sweep.channelId }, 'comments of a channel could not be read, repeated later');
    await endSweep(sql, sweep, { minutes, isWhole: false, againMs: 0 }).catch(() => undefined); // the claim ends by itself
  }
}
