import { bind } from '../../platform/kernel/index.ts';
import { type Channels } from '../channels/index.ts';
import { HEARTBEAT_TIMEOUT_MS } from '../posts/index.ts';
import { claimFollowUpsOf, findOverdueFollowUps } from './claim.ts';
import * as configurations from './configurations.ts';
import type { FollowUpsDeps } from './deps.ts';
import { runAutoPlugs } from './look.ts';
import { runFollowUps } from './run.ts';

export type FollowUps = ReturnType<typeof openFollowUps>;

/** The room of what follows a publication: first comments, post plugs, auto plugs. */
export function openFollowUps(deps: FollowUpsDeps & { channels: Pick<Channels, 'get'> }) {
  const claim = claimFollowUpsOf(deps);
  return {
    ...bind(deps, { runFollowUps, runAutoPlugs, ...configurations }),
    /** Claims what is due of a post. The only door to a call. */
    claimFollowUps: (orgId: string, postId: string) => claim(deps.sql, { orgId, postId }),
    /** Posts with follow-ups that were due 5 s ago, and with those of silent hosts. */
    overdueFollowUps: (limit: number) => findOverdueFollowUps(deps.sql, { graceMs: HEARTBEAT_TIMEOUT_MS, limit }),
  };
}
