import type { Json, Sql } from '../../platform/db/index.ts';

export interface OrganizationRow {
  id: string;
  name: string;
  timezone: string;
  settings: Record<string, Json>;
  createdAt: Date;
}

const columns = (sql: Sql) => sql`id, name, timezone, settings, created_at as "createdAt"`;

/**
 * Living orgs that a user owns; the user is held until the commit, so that two creates at once are counted one after
 * the other.
 */
export async function countOwned(sql: Sql, userId: string): Promise<number> {
  await sql`select from users where id = ${userId} for no key update`;
  const [row] = await sql<{ count: number }[]>`
    /* all orgs */
    select count(*)::int as count
    from memberships m
    join organizations o on o.id = m.org_id and o.deleted_at is null
    where m.user_id = ${userId}
      and m.role_key = 'owner'`;
  return row!.count;
}

/** A further org of a user; it becomes the one last used only when the user changes to it. */
export async function insertOrganization(
  sql: Sql,
  orgId: string,
  userId: string,
  name: string,
): Promise<OrganizationRow> {
  const [row] = await sql<OrganizationRow[]>`
    with org as (
      insert into organizations (id, name, timezone)
      select ${orgId}, ${name}, p.timezone
      from user_profiles p
      where p.user_id = ${userId}
      returning *
    ), owner as (
      insert into memberships (org_id, user_id, role_key, last_used_at)
      select id, ${userId}, 'owner', null
      from org
    )
    select ${columns(sql)}
    from org`;
  return row!;
}

export async function findOrganization(sql: Sql, orgId: string): Promise<OrganizationRow | undefined> {
  const [row] = await sql<
    OrganizationRow[]
  >`select ${columns(sql)} from organizations where id = ${orgId} and deleted_at is null`;
  return row;
}

/** `settings` are merged into those that are there. */
export async function updateOrganization(
  sql: Sql,
  orgId: string,
  {
    name = null,
    timezone = null,
    settings = {},
  }: { name?: string | null; timezone?: string | null; settings?: Record<string, Json> },
): Promise<OrganizationRow | undefined> {
  const [row] = await sql<OrganizationRow[]>`
    update organizations
    set name = coalesce(${name}, name), timezone = coalesce(${timezone}, timezone),
      settings = settings || ${sql.json(settings)}::jsonb
    where id = ${orgId}
      and deleted_at is null
    returning ${columns(sql)}`;
  return row;
}

/** Its rows stay for 30 days; no credential opens them, and no invitation leads there any more. */
export const deleteOrganization = (sql: Sql, orgId: string) => sql`
  with invited as (delete from invitations where org_id = ${orgId})
  update organizations
  set deleted_at = now()
  where id = ${orgId}
    and deleted_at is null`;

/** It goes without waiting for its 30 days. */
export const markErased = (sql: Sql, orgId: string) => sql`
  update organizations
  set erased = true
  where id = ${orgId}
    and deleted_at is not null`;

/**
 * The predicate of organizations `o` whose rows are to go. With billing on what the payment processor has not been told
 * yet is told first; with billing off nobody will tell it.
 */
const isDue = (sql: Sql, billingEnabled: boolean) => sql`
        o.deleted_at is not null
        and (o.erased or o.deleted_at < now() - interval '30 days')
        ${billingEnabled ? sql`and not exists (select from payment_tasks t where t.org_id = o.id)` : sql``}`;

/** What an org pays at the payment processor as far as we know, or what that has still to be told of. */
export const findUntold = (sql: Sql, orgId: string) => sql<{ kind: string; subscription: string }[]>`
  select kind, subscription_id as subscription
  from payment_tasks
  where org_id = ${orgId}
  union all
  select 'running', id
  from payment_subscriptions
  where org_id = ${orgId}
    and ended_at is null`;

/** The next org whose rows are to go, beside `left`. */
export async function findRemoved(
  sql: Sql,
  { left, billingEnabled }: { left: readonly string[]; billingEnabled: boolean },
): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`/* all orgs */
    select o.id
    from organizations o
    where ${isDue(sql, billingEnabled)}
      and o.id <> all(${[...left]}::uuid[])
    order by o.deleted_at
    limit 1`;
  return row?.id;
}

/**
 * Deletes an org that was deleted 30 days ago, or is erased, with all that was its own; false for one that is not due
 * or that somebody holds. Files leave their bytes to the sweep of media. It waits while the payment processor has not
 * been told that nothing is paid any more, unless billing is off.
 */
export async function dropRemoved(sql: Sql, orgId: string, billingEnabled: boolean): Promise<boolean> {
  const { count } = await sql`
    delete from organizations
    where id = (
      select o.id
      from organizations o
      where o.id = ${orgId}
        and ${isDue(sql, billingEnabled)}
      for update skip locked
    )`;
  return count > 0;
}
