import { groupCommit, type Sql } from '../../../platform/db/index.ts';
import { tenantKey } from '../../../platform/kernel/index.ts';
import type { Limits } from '../../../providers/registry/index.ts';

/** A channel as creating a post sees it. */
export interface ChannelSummary {
  id: string;
  name: string;
  providerId: string;
  providerVersion: string;
  /** The account's id at the network. */
  account: string;
  disabled: boolean;
  refreshNeeded: boolean;
  /** When its login ends unless it is renewed before. */
  tokenExpiresAt: Date | null;
  /** What its own server takes, where that has said so. */
  serverLimits: Partial<Limits> | null;
  /** Over which those of a post stand. */
  settings: Record<string, unknown>;
  /** Whether the org has links shortened (S209). */
  shortlink: 'ASK' | 'YES' | 'NO';
  /** Whose posts the org holds until they are approved (S121). */
  approvalRequired: 'members' | 'all' | 'false' | null;
}
/** The channels of an org that are named. Creates that meet share a statement. */
export const findChannelSummaries: (
  sql: Sql,
  asked: { orgId: string; ids: readonly string[] },
) => Promise<ChannelSummary[]> = groupCommit(async (sql, asked) => {
  const wanted = new Map(asked.flatMap(({ orgId, ids }) => ids.map((id) => [tenantKey(orgId, id), { orgId, id }])));
  const rows = await sql<(ChannelSummary & { orgId: string })[]>`
    select c.id, c.org_id as "orgId", c.name, c.provider_id as "providerId",
      c.provider_version as "providerVersion", c.internal_id as account, c.disabled, c.refresh_needed as "refreshNeeded",
      c.token_expires_at as "tokenExpiresAt",
      c.server_limits as "serverLimits", c.settings, coalesce(o.settings->>'shortlink', 'ASK') as shortlink,
      o.settings->>'approvalRequired' as "approvalRequired"
    from unnest(
      ${[...wanted.values()].map(({ orgId }) => orgId)}::uuid[],
      ${[...wanted.values()].map(({ id }) => id)}::uuid[]
    ) as wanted (org_id, id)
    join channels c on c.id = wanted.id and c.org_id = wanted.org_id
    join organizations o on o.id = c.org_id
    where c.deleted_at is null`;
  const found = new Map(rows.map(({ orgId, ...channel }) => [tenantKey(orgId, channel.id), channel]));
  return asked.map(({ orgId, ids }) => ids.flatMap((id) => found.get(tenantKey(orgId, id)) ?? []));
});
