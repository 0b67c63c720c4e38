import type { Sql } from '../../platform/db/index.ts';
import { timeline } from '../posts/index.ts';
import type { ServerLimits } from './server-limits.ts';

/** A channel without its credentials. */
export interface ChannelRow {
  id: string;
  orgId: string;
  providerId: string;
  providerVersion: string;
  internalId: string;
  name: string;
  handle: string;
  picture: string | null;
  tokenExpiresAt: Date | null;
  settings: Record<string, unknown>;
  additionalSettings: string;
  postingTimes: number[];
  customerId: string | null;
  customerName: string | null;
  disabled: boolean;
  refreshNeeded: boolean;
  serverLimits: ServerLimits | null;
  createdAt: Date;
}

const columns = (sql: Sql) => sql`
  c.id, c.org_id as "orgId", c.provider_id as "providerId", c.provider_version as "providerVersion",
  c.internal_id as "internalId", c.name, c.handle, c.picture,
  c.token_expires_at as "tokenExpiresAt", c.settings, c.additional_settings as "additionalSettings",
  c.posting_times as "postingTimes",
  c.customer_id as "customerId", g.name as "customerName", c.disabled, c.refresh_needed as "refreshNeeded",
  c.server_limits as "serverLimits", c.created_at as "createdAt"`;

export const channelsOfOrg = (sql: Sql, orgId: string, customerId?: string): Promise<ChannelRow[]> =>
  sql<ChannelRow[]>`
    select ${columns(sql)}
    from channels c
    left join customers g on g.id = c.customer_id
    where c.org_id = ${orgId}
      and c.deleted_at is null ${customerId === undefined ? sql`` : sql`and c.customer_id = ${customerId}`}
    order by c.created_at, c.id`;

export const channelsById = (sql: Sql, orgId: string, ids: readonly string[]): Promise<ChannelRow[]> =>
  sql<ChannelRow[]>`
    select ${columns(sql)}
    from channels c
    left join customers g on g.id = c.customer_id
    where c.org_id = ${orgId} and c.id = any(${[...ids]}::uuid[]) and c.deleted_at is null`;

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
  fresh: { credentials: string; tokenExpiresAt: Date | null },
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

export const releaseRenewal = (sql: Sql, orgId: string, id: string, claim: string): Promise<unknown> =>
  sql`
    update channels
    set refresh_claim = null, refresh_until = null
    where org_id = ${orgId} and id = ${id} and refresh_claim = ${claim}`;

/** A channel on its way to another version; `seen`: its sealed login, as the move was judged by it. */
export interface VersionMove {
  from: string;
  to: string;
  seen: string;
  credentials: string;
  tokenExpiresAt: Date | null;
}
/** Pins a channel to another version; false: it or its login was changed meanwhile. */
export async function moveVersion(sql: Sql, orgId: string, id: string, move: VersionMove): Promise<boolean> {
  const rows = await sql`
    update channels
    set provider_version = ${move.to}, credentials = ${move.credentials}, token_expires_at = ${move.tokenExpiresAt},
      server_limits_due_at = now(), updated_at = now()
    where org_id = ${orgId}
      and id = ${id}
      and provider_version = ${move.from}
      and credentials = ${move.seen}
      and deleted_at is null
      and not refresh_needed
    returning 1`;
  return rows.length > 0;
}

/** The account that a channel is connected to, and by which version of the provider. */
export interface ChannelAccount {
  providerId: string;
  providerVersion: string;
  internalId: string;
}
/** Undefined: there is no such channel. */
export async function accountOf(sql: Sql, orgId: string, id: string): Promise<ChannelAccount | undefined> {
  const [row] = await sql<ChannelAccount[]>`
    select provider_id as "providerId", provider_version as "providerVersion", internal_id as "internalId"
    from channels
    where org_id = ${orgId} and id = ${id} and deleted_at is null`;
  return row;
}

export interface Details {
  postingTimes?: number[];
  additional?: { text: string; settings: Record<string, unknown> };
  shown?: { name: string; picture?: string | null | undefined };
}

/** Changes what people set; false: there is no such channel. */
export async function updateDetails(
  sql: Sql,
  orgId: string,
  id: string,
  { postingTimes, additional, shown }: Details,
): Promise<boolean> {
  const rows = await sql`
    update channels
    set posting_times = ${postingTimes ? sql`${postingTimes}::int[]` : sql`posting_times`},
      additional_settings = ${additional ? additional.text : sql`additional_settings`},
      settings = ${additional ? sql`${JSON.stringify(additional.settings)}::text::jsonb` : sql`settings`},
      name = ${shown ? shown.name : sql`name`},
      picture = ${shown?.picture === undefined ? sql`picture` : shown.picture},
      renamed = ${shown ? true : sql`renamed`},
      updated_at = now()
    where org_id = ${orgId} and id = ${id} and deleted_at is null
    returning 1`;
  return rows.length > 0;
}

export interface CustomerRow {
  id: string;
  name: string;
}

export const customersOfOrg = (sql: Sql, orgId: string): Promise<CustomerRow[]> =>
  sql<CustomerRow[]>`select id, name from customers where org_id = ${orgId} order by lower(name)`;

/** The customer of that name, made on first use. */
export async function ensureCustomer(sql: Sql, orgId: string, id: string, name: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into customers (id, org_id, name)
    values (${id}, ${orgId}, ${name})
    on conflict (org_id, lower(name)) do update
    set name = customers.name
    returning id`;
  return row!.id;
}

/** Puts a channel into a group, or with null out of its group. `unknown_group`: the org has none of that id. */
export async function setCustomer(
  sql: Sql,
  orgId: string,
  id: string,
  customerId: string | null,
): Promise<'set' | 'missing' | 'unknown_group'> {
  if (
    customerId !== null &&
    (await sql`select 1 from customers where org_id = ${orgId} and id = ${customerId}`).length === 0
  )
    return 'unknown_group';
  const rows = await sql`
      update channels
      set customer_id = ${customerId}, updated_at = now()
      where org_id = ${orgId} and id = ${id} and deleted_at is null
      returning 1`;
  return rows.length > 0 ? 'set' : 'missing';
}
