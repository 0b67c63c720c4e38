import type { Sql } from '../../platform/db/index.ts';
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
