import { isUniqueViolation, type Sql } from '../db/index.ts';

export interface NewUser {
  userId: string;
  orgId: string;
  email: string;
  providerName: string;
  providerId: string;
  passwordHash: string | null;
  name: string;
  timezone: string;
  company: string;
  ip: string;
  userAgent: string;
}
export interface LocalAccount {
  userId: string;
  passwordHash: string | null;
  activated: boolean;
}
export interface SelfRow {
  id: string;
  email: string;
  providerName: string;
  activated: boolean;
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
}
export interface OrganizationRow {
  id: string;
  name: string;
  timezone: string;
  createdAt: Date;
}
export interface MembershipRow {
  id: string;
  name: string;
  roleKey: string;
  disabled: boolean;
  createdAt: Date;
}

const FIRST_USER = 4_182_773;

/** Held until the commit, so that of several registrations on an empty instance exactly one is the first. */
export const lockFirstUser = (sql: Sql) => sql`select pg_advisory_xact_lock(${FIRST_USER})`;

export async function anyUser(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ any: boolean }[]>`select exists (select 1 from users) as any`;
  return row!.any;
}

/** User, profile, org and ownership; false when the address exists at this provider. */
export async function insertUser(sql: Sql, user: NewUser, isSuperAdmin: boolean): Promise<boolean> {
  try {
    await sql`
      with person as (
        insert into users (id, email, provider_name, provider_id, password_hash, is_super_admin, activated, ip, agent, last_online)
        values (${user.userId}, ${user.email}, ${user.providerName}, ${user.providerId}, ${user.passwordHash}, ${isSuperAdmin}, true, ${user.ip}, ${user.userAgent}, now())
        returning id
      ), profile as (
        insert into user_profiles (user_id, name, timezone) select id, ${user.name}, ${user.timezone} from person
      ), org as (
        insert into organizations (id, name, timezone) values (${user.orgId}, ${user.company}, ${user.timezone}) returning id
      )
      insert into memberships (org_id, user_id, role_key, last_used_at) select org.id, person.id, 'owner', now() from org, person`;
    return true;
  } catch (error) {
    if (isUniqueViolation(error, 'users_email_provider')) return false;
    throw error;
  }
}

export async function localAccount(sql: Sql, email: string): Promise<LocalAccount | undefined> {
  const [row] = await sql<LocalAccount[]>`
    select id as "userId", password_hash as "passwordHash", activated
    from users where lower(email) = lower(${email}) and provider_name = 'local' and deleted_at is null`;
  return row;
}

export async function selfOf(sql: Sql, orgId: string, userId: string): Promise<SelfRow | undefined> {
  const [row] = await sql<SelfRow[]>`
    select u.id, u.email, u.provider_name as "providerName", u.activated, u.is_super_admin as "isSuperAdmin",
      u.last_read_notifications as "lastReadNotifications", p.name, p.last_name as "lastName", p.bio, p.avatar_url as "avatarUrl", p.timezone,
      o.id as "orgId", o.name as "orgName", o.allow_trial as "allowTrial", m.role_key as "roleKey"
    from memberships m
      join users u on u.id = m.user_id join user_profiles p on p.user_id = u.id join organizations o on o.id = m.org_id
    where m.org_id = ${orgId} and m.user_id = ${userId}`;
  return row;
}

/** The orgs of one user, oldest first. */
export const membershipsOf = (sql: Sql, userId: string) => sql<MembershipRow[]>`
  select o.id, o.name, m.role_key as "roleKey", m.disabled, o.created_at as "createdAt"
  from memberships m join organizations o on o.id = m.org_id and o.deleted_at is null
  where m.user_id = ${userId} order by o.created_at, o.id`;

/** Makes the org the one last used; false when the user has no live membership there. */
export async function useOrganization(sql: Sql, orgId: string, userId: string): Promise<boolean> {
  const rows = await sql`
    update memberships m set last_used_at = now() from organizations o
    where m.org_id = ${orgId} and m.user_id = ${userId} and not m.disabled and o.id = m.org_id and o.deleted_at is null
    returning 1`;
  return rows.length > 0;
}

/** A further org of a user; it becomes the one last used only when the user changes to it. */
export async function insertOrganization(sql: Sql, orgId: string, userId: string, name: string): Promise<OrganizationRow> {
  const [row] = await sql<OrganizationRow[]>`
    with org as (
      insert into organizations (id, name, timezone) select ${orgId}, ${name}, p.timezone from user_profiles p where p.user_id = ${userId}
      returning id, name, timezone, created_at
    ), owner as (
      insert into memberships (org_id, user_id, role_key, last_used_at) select id, ${userId}, 'owner', null from org
    )
    select id, name, timezone, created_at as "createdAt" from org`;
  return row!;
}

export async function organization(sql: Sql, orgId: string): Promise<OrganizationRow | undefined> {
  const [row] = await sql<OrganizationRow[]>`
    select id, name, timezone, created_at as "createdAt" from organizations where id = ${orgId} and deleted_at is null`;
  return row;
}

export async function updateOrganization(
  sql: Sql,
  orgId: string,
  change: { name?: string | undefined; timezone?: string | undefined },
): Promise<OrganizationRow | undefined> {
  const [row] = await sql<OrganizationRow[]>`
    update organizations set name = coalesce(${change.name ?? null}, name), timezone = coalesce(${change.timezone ?? null}, timezone)
    where id = ${orgId} and deleted_at is null
    returning id, name, timezone, created_at as "createdAt"`;
  return row;
}
