import type { Sql } from '../../platform/db/index.ts';
import { pinnedAdapter } from './connection.ts';
import type { ChannelsDeps } from './deps.ts';
import { loginOfChannel, sealedOf } from './login-store.ts';
import { canRenew, opened, renewLogin } from './renewal.ts';
import type { ChannelKey } from './server-limits.ts';

const AT_A_TIME = 20;
/** How long before its end a login is renewed, once a day until it lasts longer. */
const AHEAD_DAYS = 14;

/** Claims channels whose login ends soon; whoever claims one renews it. */
const claimEnding = (sql: Sql, limit: number): Promise<ChannelKey[]> => sql<ChannelKey[]>`/* all orgs */
  with ending as (
    select c.id
    from channels c
    join organizations o on o.id = c.org_id and o.deleted_at is null
    where token_expires_at > now()
      and token_expires_at <= now() + ${AHEAD_DAYS}::int * interval '1 day'
      and (renewal_tried_at is null or renewal_tried_at <= now() - interval '1 day')
      and c.deleted_at is null
      and not refresh_needed
    order by token_expires_at
    limit ${limit}
    for no key update of c
    skip locked
  )
  update channels c
  set renewal_tried_at = now()
  from ending
  where c.id = ending.id
  returning c.org_id as "orgId", c.id`;

/**
 * Renews logins that end within two weeks, so that a channel in which nothing is posted keeps its login (Instagram and
 * Threads: 60 days); also of an organization that is disabled, as it may be in use again. Answers how many were tried; a
 * fault of the line is tried again the next day.
 */
export async function renewIdle(deps: ChannelsDeps, limit: number): Promise<number> {
  const ending = await claimEnding(deps.sql, Math.min(limit, AT_A_TIME));
  await Promise.all(ending.map((channel) => renew(deps, channel).catch(() => undefined))); // a refusal is written already
  return ending.length;
}

async function renew(deps: ChannelsDeps, { orgId, id }: ChannelKey): Promise<void> {
  const channel = await sealedOf(deps.sql, orgId, id);
  if (!channel || channel.refreshNeeded) return;
  const adapter = pinnedAdapter(deps, channel);
  const seen = opened(deps, channel.credentials);
  if (!canRenew(deps, adapter, seen.credentials)) return;
  const egressRoute = channel.routeId === null ? undefined : await deps.egress.open(orgId, channel.routeId);
  await renewLogin(deps, { orgId, row: loginOfChannel(deps, orgId, id), adapter, egressRoute }, seen);
}
