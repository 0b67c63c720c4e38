import { bind } from '../../platform/kernel/index.ts';
import { type Channels } from '../channels/index.ts';
import { HEARTBEAT_TIMEOUT_MS, LONGEST_BEHIND_MS } from '../posts/index.ts';
import { type ClaimedFollowUps, claimFollowUpsOf, findOverdueFollowUps, followUpIsOverdue } from './claim.ts';
import * as configurations from './configurations.ts';
import type { FollowUpsDeps } from './deps.ts';
import { runAutoPlugs } from './look.ts';
import { runFollowUps } from './run.ts';

/** One that was due for a shorter time may stand behind posts on the host that has it, and is lost nowhere. */
const GRACE_MS = LONGEST_BEHIND_MS + HEARTBEAT_TIMEOUT_MS;
const NOTHING: ClaimedFollowUps = { claimed: [], later: undefined };

export type FollowUps = ReturnType<typeof openFollowUps>;

/** The room of what follows a publication: first comments, post plugs, auto plugs. */
export function openFollowUps(deps: FollowUpsDeps & { channels: Pick<Channels, 'get'> }) {
  const claim = claimFollowUpsOf(deps);
  const waiting = new Set<string>();
  /** Claims what is due of a post, behind posts that are due. The only door to a call. */
  async function claimFollowUps(orgId: string, postId: string): Promise<ClaimedFollowUps> {
    if (waiting.has(postId)) return NOTHING; // who waits claims all of it
    waiting.add(postId);
    const isHere = await deps.posts.waitBehindPosts().finally(() => waiting.delete(postId));
    return isHere ? claim(deps.sql, { orgId, postId }) : NOTHING;
  }
  return {
    ...bind(deps, { runFollowUps, runAutoPlugs, ...configurations }),
    claimFollowUps,
    /** Does what is due of a post; answers when more of it is. */
    follow: async (orgId: string, postId: string): Promise<Date | undefined> =>
      runFollowUps(deps, await claimFollowUps(orgId, postId)),
    /** A condition that holds where `overdueFollowUps` finds something. */
    overdueSign: () => followUpIsOverdue(deps.sql, GRACE_MS),
    /** Posts with follow-ups that were due 35 s ago, and with those of silent hosts. */
    overdueFollowUps: (limit: number) => findOverdueFollowUps(deps.sql, { graceMs: GRACE_MS, limit }),
  };
}
