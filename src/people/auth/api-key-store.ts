import type { Permission } from '../access/index.ts';
import { type HeldLimits, limitsOfProgram, type Subscribed } from '../../entitlements/index.ts';
import { groupCommit, type Sql } from '../../platform/db/index.ts';

export interface ApiKeyRow {
  id: string;
  name: string;
  prefix: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
}
/** A key with whose it is. */
export interface MemberKeyRow extends ApiKeyRow {
  userId: string;
  userEmail: string;
  userName: string;
}
export interface NewApiKey {
  id: string;
  name: string;
  prefix: string;
  keyHash: Buffer;
  expiresAt: Date | null;
}
/** Whom a key stands for; present only while the key, its user, the membership and the org are alive. */
export interface KeyHolder extends Subscribed {
  apiKeyId: string;
  /** Its name. */
  program: string;
  userId: string;
  orgId: string;
  roleKey: string;
  granted: Permission[] | null;
  isSuperAdmin: boolean;
  expiresAt: Date | null;
  /** Where somebody has set some. */
  limits?: HeldLimits | null;
}
export interface KeyUse {
  apiKeyId: string;
  orgId: string;
  at: Date;
}

/** Looks a key up by its hash (hexadecimal); look-ups that meet travel together. */
export const holderOfKey = groupCommit<string, KeyHolder | undefined>(async (sql, hashes) => {
  const rows = await sql<(KeyHolder & { n: number })[]>`
    /* all orgs */
    select t.n::int, k.id as "apiKeyId", k.name as program, k.user_id as "userId", k.org_id as "orgId", m.role_key as "roleKey",
      r.permissions as granted, u.is_super_admin as "isSuperAdmin", k.expires_at as "expiresAt",
      s.tier, s.grace_period_end as "graceEndsAt", ${limitsOfProgram(sql, sql`k.id`)} as limits
    from unnest(${[...hashes]}::text[]) with ordinality as t (hash, n)
      join api_keys k on k.key_hash = decode(t.hash, 'hex') and k.revoked_at is null
      join memberships m on m.org_id = k.org_id and m.user_id = k.user_id and not m.disabled
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
      join users u on u.id = k.user_id and u.activated and u.deleted_at is null
      join organizations o on o.id = k.org_id and o.disabled_at is null and o.deleted_at is null
      left join subscriptions s on s.org_id = o.id`;
  const byInput = new Map(rows.map(({ n, ...holder }) => [n, holder]));
  return hashes.map((_, index) => byInput.get(index + 1));
});

/** Whom keys stand for, by their ids and in their order; undefined where a key or what it depends on has ended. */
export async function findKeyHolders(sql: Sql, ids: readonly string[]): Promise<(KeyHolder | undefined)[]> {
  const rows = await sql<KeyHolder[]>`
    /* all orgs */
    select k.id as "apiKeyId", k.name as program, k.user_id as "userId", k.org_id as "orgId", m.role_key as "roleKey",
      r.permissions as granted, u.is_super_admin as "isSuperAdmin", k.expires_at as "expiresAt",
      s.tier, s.grace_period_end as "graceEndsAt"
    from api_keys k
      join memberships m on m.org_id = k.org_id and m.user_id = k.user_id and not m.disabled
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
      join users u on u.id = k.user_id and u.activated and u.deleted_at is null
      join organizations o on o.id = k.org_id and o.disabled_at is null and o.deleted_at is null
      left join subscriptions s on s.org_id = o.id
    where k.id = any(${[...ids]}::uuid[])
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())`;
  const found = new Map(rows.map((row) => [row.apiKeyId, row]));
  return ids.map((id) => found.get(id));
}

/** The part of a holder that depends on the organization. */
export type RoleInOrg = Pick<KeyHolder, 'orgId' | 'roleKey' | 'granted' | 'tier' | 'graceEndsAt'>;

/**
 * The role of a user in a living org: their own, and the owner's where they have no membership. Undefined where theirs is
 * disabled.
 */
export async function findRoleIn(sql: Sql, orgId: string, userId: string): Promise<RoleInOrg | undefined> {
  const [row] = await sql<RoleInOrg[]>`
    select o.id as "orgId", coalesce(m.role_key, 'owner') as "roleKey", r.permissions as granted,
      s.tier, s.grace_period_end as "graceEndsAt"
    from organizations o
    left join memberships m on m.org_id = o.id and m.user_id = ${userId}
    left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
    left join subscriptions s on s.org_id = o.id
    where o.id = ${orgId}
      and o.disabled_at is null
      and o.deleted_at is null
      and m.disabled is not true`;
  return row;
}

/** Own keys, newest first, revoked ones for 90 days (S57). */
export const keysOf = (sql: Sql, orgId: string, userId: string) => sql<ApiKeyRow[]>`
  select id, name, prefix, expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt",
    created_at as "createdAt"
  from api_keys
  where org_id = ${orgId}
    and user_id = ${userId}
    and (revoked_at is null or revoked_at > now() - interval '90 days')
  order by created_at desc, id desc`;

/** Keys of all members, newest first, revoked ones for 90 days. */
export const keysOfOrg = (sql: Sql, orgId: string) => sql<MemberKeyRow[]>`
  select k.id, k.name, k.prefix, k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
    k.last_used_at as "lastUsedAt", k.created_at as "createdAt",
    k.user_id as "userId", u.email as "userEmail", p.name as "userName"
  from api_keys k
  join users u on u.id = k.user_id
  join user_profiles p on p.user_id = k.user_id
  where k.org_id = ${orgId}
    and (k.revoked_at is null or k.revoked_at > now() - interval '90 days')
  order by k.created_at desc, k.id desc`;

/**
 * Held until the commit: two creates at once cannot both be the last allowed, and who is removed meanwhile leaves no
 * key behind. False: no active member, or the org is disabled or deleted.
 */
export async function lockMember(sql: Sql, orgId: string, userId: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from memberships m
    join users u on u.id = m.user_id and u.activated and u.deleted_at is null
    join organizations o on o.id = m.org_id and o.disabled_at is null and o.deleted_at is null
    where m.org_id = ${orgId}
      and m.user_id = ${userId}
      and not m.disabled
    for update of m`;
  return rows.length > 0;
}

export async function countLiveKeys(sql: Sql, orgId: string, userId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from api_keys
    where org_id = ${orgId}
      and user_id = ${userId}
      and revoked_at is null
      and (expires_at is null or expires_at > now())`;
  return row!.count;
}

export const insertKey = (sql: Sql, orgId: string, userId: string, key: NewApiKey) => sql`
  insert into api_keys (id, org_id, user_id, name, prefix, key_hash, expires_at)
  values (${key.id}, ${orgId}, ${userId}, ${key.name}, ${key.prefix}, ${key.keyHash}, ${key.expiresAt})`;

/** Whether there is the key; with `userId` only when it is that user's. */
export async function findKey(sql: Sql, orgId: string, id: string, userId: string | undefined): Promise<boolean> {
  const rows = await sql`
    select 1
    from api_keys
    where id = ${id}
      and org_id = ${orgId}
      and user_id = coalesce(${userId ?? null}::uuid, user_id)`;
  return rows.length > 0;
}

/** The key, locked; with `userId` only when it is that user's. */
export async function keyForUpdate(sql: Sql, orgId: string, id: string, userId: string | undefined) {
  const [row] = await sql<{ userId: string; name: string; prefix: string; keyHash: Buffer; revoked: boolean }[]>`
    select user_id as "userId", name, prefix, key_hash as "keyHash", revoked_at is not null as revoked
    from api_keys
    where id = ${id}
      and org_id = ${orgId}
      and user_id = coalesce(${userId ?? null}::uuid, user_id)
    for update`;
  return row;
}

/** A key that opens the account, for its owner to know again. */
export interface LiveKey {
  name: string;
  prefix: string;
  orgName: string;
}
export const liveKeysOf = (sql: Sql, userId: string) => sql<LiveKey[]>`
  /* all orgs */
  select k.name, k.prefix, o.name as "orgName"
  from api_keys k
  join organizations o on o.id = k.org_id and o.deleted_at is null
  where k.user_id = ${userId}
    and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > now())
  order by k.created_at desc
  limit 100`;

/** For the mail about a new key. */
export async function ownerOf(
  sql: Sql,
  orgId: string,
  userId: string,
): Promise<{ email: string; name: string; orgName: string }> {
  const [row] = await sql<{ email: string; name: string; orgName: string }[]>`
    select u.email, p.name, o.name as "orgName"
    from users u
    join user_profiles p on p.user_id = u.id, organizations o
    where u.id = ${userId}
      and o.id = ${orgId}`;
  return row!;
}

export const revokeKey = (sql: Sql, orgId: string, id: string) => sql`
  update api_keys
  set revoked_at = now()
  where id = ${id}
    and org_id = ${orgId}
    and revoked_at is null`;

/** Every living key of a user, whatever the org. */
export const revokeKeysOf = (sql: Sql, userId: string) => sql<{ keyHash: Buffer }[]>`
  /* all orgs */
  update api_keys
  set revoked_at = now()
  where user_id = ${userId}
    and revoked_at is null
  returning key_hash as "keyHash"`;

export async function noteKeys(sql: Sql, uses: readonly KeyUse[]): Promise<void> {
  const ordered = uses.toSorted((a, b) => (a.apiKeyId < b.apiKeyId ? -1 : 1));
  await sql`
    update api_keys k
    set last_used_at = greatest(k.last_used_at, used.at)
    from unnest(${ordered.map((use) => use.apiKeyId)}::uuid[], ${ordered.map((use) => use.orgId)}::uuid[],
      ${ordered.map((use) => use.at.toISOString())}::timestamptz[]) as used (id, org_id, at)
    where k.id = used.id
      and k.org_id = used.org_id`;
}
