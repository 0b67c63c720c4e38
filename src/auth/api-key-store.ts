import { groupCommit, type Sql } from '../db/index.ts';

export interface ApiKeyRow {
  id: string;
  name: string;
  prefix: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
}
export interface NewApiKey {
  id: string;
  name: string;
  prefix: string;
  keyHash: Buffer;
  expiresAt: Date | null;
}
/** Whom a key stands for; present only while the key, its user, the membership and the org are alive. */
export interface KeyHolder {
  apiKeyId: string;
  userId: string;
  orgId: string;
  roleKey: string;
  isSuperAdmin: boolean;
  expiresAt: Date | null;
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
    select t.n::int, k.id as "apiKeyId", k.user_id as "userId", k.org_id as "orgId", m.role_key as "roleKey", u.is_super_admin as "isSuperAdmin", k.expires_at as "expiresAt"
    from unnest(${[...hashes]}::text[]) with ordinality as t (hash, n)
      join api_keys k on k.key_hash = decode(t.hash, 'hex') and k.revoked_at is null
      join memberships m on m.org_id = k.org_id and m.user_id = k.user_id and not m.disabled
      join users u on u.id = k.user_id and u.deleted_at is null
      join organizations o on o.id = k.org_id and o.deleted_at is null`;
  const byInput = new Map(rows.map(({ n, ...holder }) => [n, holder]));
  return hashes.map((_, index) => byInput.get(index + 1));
});

/** Own keys, newest first, revoked ones for 90 days (S57). */
export const keysOf = (sql: Sql, orgId: string, userId: string) => sql<ApiKeyRow[]>`
  select id, name, prefix, expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt", created_at as "createdAt"
  from api_keys
  where org_id = ${orgId} and user_id = ${userId} and (revoked_at is null or revoked_at > now() - interval '90 days')
  order by created_at desc, id desc`;

/** Taken before counting, so that two creates at once cannot both be the last allowed. */
export const lockMember = (sql: Sql, orgId: string, userId: string) =>
  sql`select 1 from memberships where org_id = ${orgId} and user_id = ${userId} for update`;

export async function countLiveKeys(sql: Sql, orgId: string, userId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from api_keys
    where org_id = ${orgId} and user_id = ${userId} and revoked_at is null and (expires_at is null or expires_at > now())`;
  return row!.count;
}

export const insertKey = (sql: Sql, orgId: string, userId: string, key: NewApiKey) => sql`
  insert into api_keys (id, org_id, user_id, name, prefix, key_hash, expires_at)
  values (${key.id}, ${orgId}, ${userId}, ${key.name}, ${key.prefix}, ${key.keyHash}, ${key.expiresAt})`;

export async function keyForUpdate(sql: Sql, orgId: string, userId: string, id: string) {
  const [row] = await sql<{ name: string; keyHash: Buffer; revoked: boolean }[]>`
    select name, key_hash as "keyHash", revoked_at is not null as revoked from api_keys where id = ${id} and org_id = ${orgId} and user_id = ${userId} for update`;
  return row;
}

export const revokeKey = (sql: Sql, orgId: string, userId: string, id: string) => sql`
  update api_keys set revoked_at = now() where id = ${id} and org_id = ${orgId} and user_id = ${userId} and revoked_at is null`;

export async function noteKeys(sql: Sql, uses: readonly KeyUse[]): Promise<void> {
  const ordered = uses.toSorted((a, b) => (a.apiKeyId < b.apiKeyId ? -1 : 1));
  await sql`
    update api_keys k set last_used_at = greatest(k.last_used_at, used.at)
    from unnest(${ordered.map((use) => use.apiKeyId)}::uuid[], ${ordered.map((use) => use.orgId)}::uuid[], ${ordered.map((use) => use.at.toISOString())}::timestamptz[]) as used (id, org_id, at)
    where k.id = used.id and k.org_id = used.org_id`;
}
