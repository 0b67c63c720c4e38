import type { Sql } from '../../platform/db/index.ts';
import type { Tier } from '../../entitlements/index.ts';

export interface OrgRow {
  id: string;
  name: string;
  createdAt: Date;
  disabledAt: Date | null;
  /** Enabled ones. */
  members: number;
  channels: number;
  /** The tier of its subscription; null without one. */
  tier: Tier | null;
  graceEndsAt: Date | null;
}

const columns = (sql: Sql) => sql`
  o.id, o.name, o.created_at as "createdAt", o.disabled_at as "disabledAt", s.tier, s.grace_period_end as "graceEndsAt",
  (select count(*)::int from memberships m where m.org_id = o.id and not m.disabled) as members,
  (select count(*)::int from channels c where c.org_id = o.id and c.deleted_at is null) as channels`;

/** Newest first. `search`: a part of the name, or the id. */
export const listOrgs = (
  sql: Sql,
  { search, before, limit }: { search?: string | undefined; before?: string | undefined; limit: number },
) => sql<OrgRow[]>`
  /* all orgs */
  select ${columns(sql)}
  from organizations o
  left join subscriptions s on s.org_id = o.id
  where o.deleted_at is null ${before === undefined ? sql`` : sql`and o.id < ${before}`}
    ${search === undefined ? sql`` : sql`and (position(lower(${search}) in lower(o.name)) > 0 or o.id::text = ${search})`}
  order by o.id desc
  limit ${limit}`;

export async function findOrg(sql: Sql, orgId: string): Promise<OrgRow | undefined> {
  const [row] = await sql<OrgRow[]>`
    select ${columns(sql)}
    from organizations o
    left join subscriptions s on s.org_id = o.id
    where o.id = ${orgId}
      and o.deleted_at is null`;
  return row;
}

/** True when that changes it. */
export async function setDisabled(sql: Sql, orgId: string, disabled: boolean): Promise<boolean> {
  const rows = await sql`
    update organizations
    set disabled_at = ${disabled ? sql`now()` : null}
    where id = ${orgId}
      and deleted_at is null
      and (disabled_at is not null) <> ${disabled}
    returning 1`;
  return rows.length > 0;
}

export async function isDisabled(sql: Sql, orgId: string): Promise<boolean> {
  const rows = await sql`select from organizations where id = ${orgId} and disabled_at is not null`;
  return rows.length > 0;
}

/**
 * Shut orgs in which a channel is about to publish all the same: what was under way when the org was shut came back to
 * the queue.
 */
export async function restlessOrgs(sql: Sql, limit: number, without: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    /* all orgs */
    select o.id
    from organizations o
    where o.disabled_at is not null
      and exists (select 1 from channels c where c.org_id = o.id and c.deleted_at is null and c.next_due_at is not null)
      and o.id <> all(${[...without]}::uuid[])
    limit ${limit}`;
  return rows.map(({ id }) => id);
}
