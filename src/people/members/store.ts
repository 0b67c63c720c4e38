import type { Sql } from '../../platform/db/index.ts';
import { avatarUrl } from '../identity/index.ts';
import type { MemberRights } from './rules.ts';

export interface MemberRow {
  /** The id of the user. */
  id: string;
  email: string;
  name: string;
  avatarUrl: string | null;
  roleKey: string;
  /** Null for a system role. */
  roleName: string | null;
  disabled: boolean;
  lastOnline: Date | null;
  createdAt: Date;
}

/** Disables the members that a plan has no seats for; in the transaction that lowered it. */
export const disableMembersForPlan = (sql: Sql, orgId: string, userIds: readonly string[]) => sql`
  with locked_memberships as materialized ( -- in the order in which everybody locks memberships
    select user_id
    from memberships
    where org_id = ${orgId}
      and user_id = any(${[...userIds]}::uuid[])
    order by user_id
    for no key update
  )
  update memberships m
  set disabled = true
  from locked_memberships l
  where m.org_id = ${orgId}
    and m.user_id = l.user_id`;

/**
 * Held until the commit: changes of who may do what in an org are made one after the other. False: the org is not
 * there.
 */
export async function lockOrgRow(sql: Sql, orgId: string): Promise<boolean> {
  const rows = await sql`select 1 from organizations where id = ${orgId} and deleted_at is null for no key update`;
  return rows.length > 0;
}

export async function findMemberRights(sql: Sql, orgId: string, userId: string): Promise<MemberRights | undefined> {
  const [row] = await sql<MemberRights[]>`
    select m.role_key as "roleKey", m.disabled, r.permissions as granted, u.is_super_admin as "isSuperAdmin"
    from memberships m
    join users u on u.id = m.user_id and u.deleted_at is null
    left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
    where m.org_id = ${orgId}
      and m.user_id = ${userId}`;
  return row;
}

const select = (sql: Sql) => sql`
  select u.id, u.email, p.name, ${avatarUrl(sql)} as "avatarUrl", m.role_key as "roleKey", r.name as "roleName", m.disabled,
    u.last_online as "lastOnline", m.created_at as "createdAt"
  from memberships m
    join users u on u.id = m.user_id and u.deleted_at is null
    join user_profiles p on p.user_id = u.id
    left join roles r on r.org_id = m.org_id and r.id::text = m.role_key`;

/** In the order of their coming. */
export const listMembers = (sql: Sql, orgId: string) =>
  sql<MemberRow[]>`${select(sql)} where m.org_id = ${orgId} order by m.created_at, u.id`;

export async function findMember(sql: Sql, orgId: string, userId: string): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`${select(sql)} where m.org_id = ${orgId} and m.user_id = ${userId}`;
  return row;
}

/** Another owner who can act: not disabled, not locked out. */
export async function otherOwner(sql: Sql, orgId: string, userId: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from memberships m
    join users u on u.id = m.user_id and u.activated and u.deleted_at is null
    where m.org_id = ${orgId}
      and m.role_key = 'owner'
      and not m.disabled
      and m.user_id <> ${userId}
    limit 1`;
  return rows.length > 0;
}

/** What other members who can act may do: each role once. */
export const rolesOfOthers = (sql: Sql, orgId: string, userId: string) => sql<Omit<MemberRights, 'disabled'>[]>`
  select distinct m.role_key as "roleKey", r.permissions as granted, u.is_super_admin as "isSuperAdmin"
  from memberships m
  join users u on u.id = m.user_id and u.activated and u.deleted_at is null
  left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
  where m.org_id = ${orgId}
    and not m.disabled
    and m.user_id <> ${userId}`;

/** Tells whether anybody else belongs to it, also somebody who cannot act now. */
export async function hasOtherMembers(sql: Sql, orgId: string, userId: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from memberships m
    join users u on u.id = m.user_id and u.deleted_at is null
    where m.org_id = ${orgId}
      and m.user_id <> ${userId}
    limit 1`;
  return rows.length > 0;
}

export const insertMember = (sql: Sql, orgId: string, userId: string, roleKey: string) => sql`
  insert into memberships (org_id, user_id, role_key, last_used_at)
  values (${orgId}, ${userId}, ${roleKey}, now())`;

export const updateMember = (
  sql: Sql,
  orgId: string,
  userId: string,
  change: { roleKey: string; disabled: boolean },
) => sql`
  update memberships
  set role_key = ${change.roleKey}, disabled = ${change.disabled}
  where org_id = ${orgId}
    and user_id = ${userId}`;

/**
 * The membership with its API keys and tokens. What the member made, posts and files, stays with the org. The
 * membership is locked before: a key that is being made is there by then, and is revoked, too.
 */
export const deleteMember = (sql: Sql, orgId: string, userId: string) => sql`
  with keys as (
    update api_keys
    set revoked_at = now()
    where org_id = ${orgId}
      and user_id = ${userId}
      and revoked_at is null
  ), logins as (
    delete from connect_states
    where org_id = ${orgId}
      and user_id = ${userId}
  ), invited as (
    delete from invitations
    where org_id = ${orgId}
      and invited_by = ${userId}
  )
  delete from memberships
  where org_id = ${orgId}
    and user_id = ${userId}`;

/**
 * Answers the members, or the one, who would have no org left without this one: one that is shut to them lets nobody log
 * in. All their memberships of living orgs
 * are locked before that, by user and org, by a statement of its own: of two orgs that a person leaves at the same
 * moment the second waits, and reads what the first has left.
 */
export async function lockMembersOfOnly(
  sql: Sql,
  orgId: string,
  userId?: string,
): Promise<{ id: string; timezone: string }[]> {
  const ofUser = userId === undefined ? sql`` : sql`and m.user_id = ${userId}`;
  await sql`
    /* all orgs */
    select
    from memberships held
    join organizations o on o.id = held.org_id and o.deleted_at is null
    where held.user_id in (select m.user_id from memberships m where m.org_id = ${orgId} ${ofUser})
    order by held.user_id, held.org_id
    for update of held`;
  return sql<{ id: string; timezone: string }[]>`
    select m.user_id as id, p.timezone
    from memberships m
    join users u on u.id = m.user_id and u.deleted_at is null
    join user_profiles p on p.user_id = m.user_id
    where m.org_id = ${orgId} ${ofUser}
      and not exists (
      select 1
      from memberships other
      join organizations o on o.id = other.org_id and o.deleted_at is null and o.disabled_at is null
      where other.user_id = m.user_id
        and other.org_id <> m.org_id
        and not other.disabled)`;
}

/**
 * An org of their own for each, as a registration makes one: a user without any could neither log in nor take an
 * invitation.
 */
export const insertOwnOrgs = (sql: Sql, orgs: readonly { orgId: string; userId: string; timezone: string }[]) => sql`
  with given as (
    select *
    from unnest(${orgs.map(({ orgId }) => orgId)}::uuid[], ${orgs.map(({ userId }) => userId)}::uuid[],
      ${orgs.map(({ timezone }) => timezone)}::text[]) as t (org_id, user_id, timezone)
  ), org as (
    insert into organizations (id, name, timezone)
    select org_id, 'My organization', timezone
    from given
    returning id
  )
  insert into memberships (org_id, user_id, role_key)
  select g.org_id, g.user_id, 'owner'
  from given g
  join org on org.id = g.org_id`;
