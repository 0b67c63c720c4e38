import type { Sql } from '../../platform/db/index.ts';
import { append } from '../../platform/outbox/index.ts';
import { pinnedAdapter } from './connection.ts';
import type { ChannelsDeps } from './deps.ts';
import { opened } from './renewal.ts';

interface Ending {
  id: string;
  orgId: string;
  name: string;
  providerId: string;
  providerVersion: string;
  credentials: string;
  expiresAt: Date;
  days: number;
}

/**
 * Claims channels whose login ends within 7 days, and again within one; each of both once for one end. Of an organization
 * that is disabled nobody would hear of it: it is told once that is in use again.
 */
const claimExpiring = (sql: Sql, limit: number): Promise<Ending[]> => sql<Ending[]>`/* all orgs */
  with ending as (
    select c.id, case when token_expires_at <= now() + interval '1 day' then 1 else 7 end as days
    from channels c
    join organizations o on o.id = c.org_id and o.deleted_at is null and o.disabled_at is null
    where token_expires_at > now()
      and token_expires_at <= now() + interval '7 days'
      and c.deleted_at is null
      and not refresh_needed
      and (
        expiry_told_for is distinct from token_expires_at
        or expiry_told_days > 1 and token_expires_at <= now() + interval '1 day'
      )
    order by token_expires_at
    limit ${limit}
    for no key update of c
    skip locked
  )
  update channels c
  set expiry_told_for = c.token_expires_at, expiry_told_days = e.days
  from ending e
  where c.id = e.id
  returning c.id, c.org_id as "orgId", c.name, c.provider_id as "providerId", c.provider_version as "providerVersion",
    c.credentials, c.token_expires_at as "expiresAt", e.days`;

/**
 * Announces logins that end soon and that a person has to renew; those that the service renews by themselves are left
 * out. Answers how many were looked at.
 */
export const tellExpiring = (deps: ChannelsDeps, limit: number): Promise<number> =>
  deps.sql.begin(async (tx) => {
    const ending = await claimExpiring(tx, limit);
    await append(
      tx,
      ending
        .filter((channel) => needsPersonSoon(deps, channel))
        .map(({ id, orgId, name, providerId, expiresAt, days }) => ({
          orgId,
          topic: 'channel.token_expiring' as const,
          entityId: id,
          payload: { providerId, name, reason: days === 1 ? '1_day' : '7_days', expiresAt: expiresAt.toISOString() },
        })),
    );
    return ending.length;
  });

/**
 * A token that renews itself lasts as long as it is renewed in time; every other end that is known is for a person. Of a
 * login that cannot be opened, or whose network is not offered any more, nobody can say.
 */
function needsPersonSoon(deps: ChannelsDeps, channel: Ending): boolean {
  try {
    const { tokens } = opened(deps, channel.credentials).credentials;
    return deps.providers.renewalOf(pinnedAdapter(deps, channel), tokens) !== 'itself';
  } catch {
    return false;
  }
}
