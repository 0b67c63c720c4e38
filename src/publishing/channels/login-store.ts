import type { Sql } from '../../platform/db/index.ts';
import { timeline } from '../posts/index.ts';
import type { ChannelsDeps } from './deps.ts';
import type { LoginRow, RenewedLogin } from './login-row.ts';

export interface SealedRow {
  providerId: string;
  providerVersion: string;
  credentials: string;
  settings: Record<string, unknown>;
  /** The route that its calls take; null: the open route. */
  routeId: string | null;
  refreshNeeded: boolean;
}

/** The sealed credentials of a channel, for the one place that opens them. */
export async function sealedOf(sql: Sql, orgId: string, id: string): Promise<SealedRow | undefined> {
  const [row] = await sql<SealedRow[]>`
    select provider_id as "providerId", provider_version as "providerVersion", credentials, settings,
      refresh_needed as "refreshNeeded",
      case c.egress
        when 'route' then c.egress_setting_id
        when 'org' then (select o.egress_setting_id from organizations o where o.id = c.org_id) end as "routeId"
    from channels c
    where org_id = ${orgId} and id = ${id} and deleted_at is null`;
  return row;
}

/**
 * Claims the renewal of the token that is sealed in `seen`; false: it is no longer that token, or another process
 * renews it.
 */
export async function claimRenewal(
  sql: Sql,
  orgId: string,
  id: string,
  seen: string,
  claim: string,
  holdMs: number,
): Promise<boolean> {
  const rows = await sql`
    update channels
    set refresh_claim = ${claim}, refresh_until = now() + ${holdMs}::float8 * interval '1 ms'
    where org_id = ${orgId}
      and id = ${id}
      and credentials = ${seen}
      and deleted_at is null
      and not refresh_needed
      and (refresh_until is null or refresh_until < now())
    returning 1`;
  return rows.length > 0;
}

/**
 * Writes renewed credentials in place of those that were claimed, which the post in the channel's slot is told; false: a
 * person logged in meanwhile, whose login counts.
 */
export async function saveRenewal(
  sql: Sql,
  orgId: string,
  id: string,
  seen: string,
  fresh: RenewedLogin,
): Promise<boolean> {
  const rows = await sql`
    with renewed as (
      update channels
      set credentials = ${fresh.credentials}, token_expires_at = ${fresh.tokenExpiresAt}, refresh_claim = null,
        refresh_until = null, updated_at = now()
      where org_id = ${orgId} and id = ${id} and credentials = ${seen} and deleted_at is null
      returning org_id, slot_post_id as id
    ), ${timeline(sql, {
      from: sql`renewed where id is not null`,
      kind: 'token_refreshed',
      message: 'The login of the channel was renewed',
    })}
    select 1
    from renewed`;
  return rows.length > 0;
}

const releaseRenewal = (sql: Sql, orgId: string, id: string, claim: string): Promise<unknown> =>
  sql`
    update channels
    set refresh_claim = null, refresh_until = null
    where org_id = ${orgId} and id = ${id} and refresh_claim = ${claim}`;

/** The row of a channel as that of a login. */
export const loginOfChannel = (
  { sql, needsLogin }: Pick<ChannelsDeps, 'sql' | 'needsLogin'>,
  orgId: string,
  channelId: string,
): LoginRow => ({
  find: () => sealedOf(sql, orgId, channelId),
  claim: (...of) => claimRenewal(sql, orgId, channelId, ...of),
  save: (...of) => saveRenewal(sql, orgId, channelId, ...of),
  release: (claim) => releaseRenewal(sql, orgId, channelId, claim),
  lose: (reason, seen) => needsLogin(orgId, channelId, reason, seen),
});
