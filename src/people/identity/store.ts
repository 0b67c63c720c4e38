import type { Permission } from '../access/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { avatarUrl } from './profile-store.ts';

export interface NewUser {
  userId: string;
  orgId: string;
  email: string;
  providerName: string;
  providerId: string;
  passwordHash: string | null;
  activated: boolean;
  name: string;
  avatarUrl: string | null;
  timezone: string;
  company: string;
  ip: string;
  userAgent: string;
}
export interface SelfRow {
  id: string;
  email: string;
  providerName: string;
  activated: boolean;
  hasPassword: boolean;
  isSuperAdmin: boolean;
  lastReadNotifications: Date;
  name: string;
  lastName: string;
  bio: string;
  avatarUrl: string | null;
  timezone: string;
  orgId: string;
  orgName: string;
  allowTrial: boolean;
  roleKey: string;
  granted: Permission[] | null;
}
export interface MembershipRow {
  id: string;
  name: string;
  roleKey: string;
  disabled: boolean;
  createdAt: Date;
}

/** An org of a user who is about to leave; `others`: members beside the user. */
export interface OrganizationLeft {
  id: string;
  name: string;
  roleKey: string;
  others: number;
  isLastOwner: boolean;
}

const FIRST_ADMIN = 4_182_773;

/** Held until the commit, so that of several who may become the first super-admin at once exactly one does. */
export const lockFirstAdmin = (sql: Sql) => sql`select pg_advisory_xact_lock(${FIRST_ADMIN})`;

export async function anyUser(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ any: boolean }[]>`select exists (select 1 from users) as any`;
  return row!.any;
}

export async function anySuperAdmin(sql: Sql): Promise<boolean> {
  const [row] = await sql<
    { any: boolean }[]
  >`select exists (select 1 from users where is_super_admin and deleted_at is null) as any`;
  return row!.any;
}

export const nominate = (sql: Sql, userId: string) =>
  sql`update users set becomes_super_admin = true where id = ${userId} and not activated`;

/** Tells whether the user was named to become super-admin; asked once, for it is forgotten. */
export async function takeNomination(sql: Sql, userId: string): Promise<boolean> {
  const rows =
    await sql`update users set becomes_super_admin = false where id = ${userId} and becomes_super_admin returning 1`;
  return rows.length > 0;
}
export const makeSuperAdmin = (sql: Sql, userId: string) =>
  sql`update users set is_super_admin = true, becomes_super_admin = false where id = ${userId}`;

/** Users with this address, of any provider. */
export const usersByAddress = (sql: Sql, email: string) => sql<
  { id: string; providerName: string; activated: boolean }[]
>`
  select id, provider_name as "providerName", activated
  from users
  where lower(email) = lower(${email})
    and deleted_at is null
  order by provider_name`;

/**
 * User, profile, org and ownership; false when a user who is there has the address or the account at this provider.
 * `isFirst`: super-admin once active.
 */
export async function insertUser(sql: Sql, user: NewUser, isFirst: boolean): Promise<boolean> {
  const rows = await sql`
    with person as (
      insert into users (id, email, provider_name, provider_id, password_hash, is_super_admin, becomes_super_admin,
        activated, ip, agent, last_online)
      values (
        ${user.userId}, ${user.email}, ${user.providerName}, ${user.providerId}, ${user.passwordHash},
        ${isFirst && user.activated}, ${isFirst && !user.activated},
        ${user.activated}, ${user.ip}, ${user.userAgent}, now()
      )
      on conflict do nothing
      returning id
    ), profile as (
      insert into user_profiles (user_id, name, avatar_url, timezone)
      select id, ${user.name}, ${user.avatarUrl}::text, ${user.timezone}
      from person
    ), org as (
      insert into organizations (id, name, timezone)
      select ${user.orgId}::uuid, ${user.company}, ${user.timezone}
      from person
      returning id
    )
    insert into memberships (org_id, user_id, role_key, last_used_at)
    select org.id, person.id, 'owner', now()
    from org, person
    returning 1`;
  return rows.length > 0;
}

/** The user behind an account at a login provider. */
export async function providerAccount(
  sql: Sql,
  providerName: string,
  providerId: string,
): Promise<{ id: string; activated: boolean } | undefined> {
  const [row] = await sql<{ id: string; activated: boolean }[]>`
    select id, activated
    from users
    where provider_name = ${providerName}
      and provider_id = ${providerId}
      and deleted_at is null`;
  return row;
}

export async function selfOf(sql: Sql, orgId: string, userId: string): Promise<SelfRow | undefined> {
  const [row] = await sql<SelfRow[]>`
    select u.id, u.email, u.provider_name as "providerName", u.activated, u.password_hash is not null as "hasPassword",
      u.is_super_admin as "isSuperAdmin", u.last_read_notifications as "lastReadNotifications", p.name,
      p.last_name as "lastName", p.bio, ${avatarUrl(sql)} as "avatarUrl", p.timezone,
      o.id as "orgId", o.name as "orgName", o.allow_trial as "allowTrial", m.role_key as "roleKey",
      r.permissions as granted
    from memberships m
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
      join users u on u.id = m.user_id
      join user_profiles p on p.user_id = u.id
      join organizations o on o.id = m.org_id
    where m.org_id = ${orgId}
      and m.user_id = ${userId}`;
  return row;
}

/** The orgs of one user, oldest first. */
export const membershipsOf = (sql: Sql, userId: string) => sql<MembershipRow[]>`
  select o.id, o.name, m.role_key as "roleKey", m.disabled, o.created_at as "createdAt"
  from memberships m
  join organizations o on o.id = m.org_id and o.deleted_at is null
  where m.user_id = ${userId}
  order by o.created_at, o.id`;

/** Makes the org the one last used; false when the user has no live membership there. */
export async function useOrganization(sql: Sql, orgId: string, userId: string): Promise<boolean> {
  const rows = await sql`
    update memberships m
    set last_used_at = now()
    from organizations o
    where m.org_id = ${orgId}
      and m.user_id = ${userId}
      and not m.disabled
      and o.id = m.org_id
      and o.disabled_at is null
      and o.deleted_at is null
    returning 1`;
  return rows.length > 0;
}

/**
 * Locks the living orgs of a user, in one order, so that of two owners who leave at once one sees that the other has
 * left.
 */
export async function lockOrganizationsOf(sql: Sql, userId: string): Promise<OrganizationLeft[]> {
  await sql`
    /* all orgs */
    select 1
    from organizations
    where id in (select org_id from memberships where user_id = ${userId})
      and deleted_at is null
    order by id
    for no key update`;
  return sql<OrganizationLeft[]>`
    /* all orgs */
    select o.id, o.name, m.role_key as "roleKey", count(others.user_id)::int as others,
      m.role_key = 'owner'
        and not m.disabled
        and count(*) filter (where others.role_key = 'owner' and others.can_act) = 0 as "isLastOwner"
    from memberships m
      join organizations o on o.id = m.org_id and o.deleted_at is null
      left join (select m.org_id, m.user_id, m.role_key, not m.disabled and u.activated as can_act
      from memberships m
      join users u on u.id = m.user_id and u.deleted_at is null) others
        on others.org_id = m.org_id and others.user_id <> m.user_id
    where m.user_id = ${userId}
    group by o.id, m.role_key, m.disabled`;
}

/**
 * Those who can act as super-admins, locked: of two who leave or lose the flag at once one sees that the other has. The
 * user who leaves or is changed is locked with them, in one order and before what is theirs, as by the notes of their
 * use: neither waits for the other.
 */
export async function lockSuperAdmins(sql: Sql, userId: string): Promise<string[]> {
  const rows = await sql<{ id: string; acts: boolean }[]>`
    select id, is_super_admin and activated and deleted_at is null as acts
    from users
    where id in (select id
    from users
    where is_super_admin
      and activated
      and deleted_at is null
    union all
    select ${userId}::uuid)
    order by id
    for no key update`;
  return rows.filter(({ acts }) => acts).map(({ id }) => id);
}

/** Nobody may log in as this user from now on; memberships in orgs that others are in end, and no link of theirs leads there. */
export const removeUser = (sql: Sql, userId: string) => sql`
  /* all orgs */
  with gone as (
    update users
    set deleted_at = now()
    where id = ${userId}
      and deleted_at is null
  ), invited as (
    delete from invitations
    where invited_by = ${userId}
  )
  delete from memberships m
  where m.user_id = ${userId}
    and exists (select 1 from memberships o where o.org_id = m.org_id and o.user_id <> m.user_id)`;

export const removeOrganizations = (sql: Sql, orgIds: readonly string[]) => sql`
  update organizations
  set deleted_at = now()
  where id = any(${[...orgIds]}::uuid[])
    and deleted_at is null`;

export interface ErasedUser {
  id: string;
  email: string;
  deletedAt: Date;
}
export async function findRemovedUsers(sql: Sql, limit: number, without: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id
    from users
    where deleted_at < now() - interval '30 days'
      and id <> all(${[...without]}::uuid[])
    order by deleted_at
    limit ${limit}`;
  return rows.map(({ id }) => id);
}
/** Those of these who have been gone for 30 days. */
export const dropRemovedUsers = (sql: Sql, userIds: readonly string[]) => sql<ErasedUser[]>`
  delete from users
  where id = any(${[...userIds]}::uuid[])
    and deleted_at < now() - interval '30 days'
  returning id, email, deleted_at as "deletedAt"`;
export const dropRemovedUser = (sql: Sql, userId: string) => sql<ErasedUser[]>`
  delete from users
  where id = ${userId}
    and deleted_at is not null
  returning id, email, deleted_at as "deletedAt"`;
