import type { Permission, Scope } from '../people/access/index.ts';
import { type HeldLimits, limitsOfProgram, type Subscribed } from '../entitlements/index.ts';
import { groupCommit, type Sql } from '../platform/db/index.ts';
import type { Surface } from './surfaces.ts';

export interface NewCode {
  codeHash: Buffer;
  authorizationId: string;
  redirectUri: string;
  /** The request named it. */
  redirectNamed: boolean;
  challenge: string | undefined;
  scope: readonly Scope[];
  resource: Surface | null;
  seconds: number;
}
/** The authorization that a code stands for; `alive`: within its time, and the user still belongs to the org. */
export interface UsedCode {
  authorizationId: string;
  orgId: string;
  userId: string;
  appId: string;
  redirectUri: string;
  redirectNamed: boolean;
  challenge: string | null;
  scope: Scope[];
  resource: Surface | null;
  alive: boolean;
}
export interface NewPair {
  id: string;
  orgId: string;
  authorizationId: string;
  codeHash: Buffer;
  accessHash: Buffer;
  accessSeconds: number;
  refreshHash: Buffer;
  refreshSeconds: number;
  scope: readonly Scope[];
  refreshScope: readonly Scope[];
  resource: Surface | null;
}
export interface Refreshed {
  orgId: string;
  authorizationId: string;
  codeHash: Buffer;
  refreshScope: Scope[];
  resource: Surface | null;
}
/** Whom an access token stands for; present only while token, app and its org, membership, user and org are alive. */
export interface TokenHolder extends Subscribed {
  tokenId: string;
  /** The name of its app. */
  program: string;
  authorizationId: string;
  userId: string;
  orgId: string;
  roleKey: string;
  granted: Permission[] | null;
  isSuperAdmin: boolean;
  scope: string[];
  resource: Surface | null;
  expiresAt: Date;
  /** Where somebody has set some. */
  limits?: HeldLimits | null;
}

export const insertCode = (sql: Sql, orgId: string, code: NewCode) => sql`
  insert into oauth_codes (code_hash, org_id, authorization_id, redirect_uri, redirect_named, challenge, scope,
    resource, expires_at)
  values (${code.codeHash}, ${orgId}, ${code.authorizationId}, ${code.redirectUri}, ${code.redirectNamed},
    ${code.challenge ?? null}, ${[...code.scope]}::text[],
    ${code.resource}, now() + ${code.seconds}::int * interval '1 s')`;

/**
 * Until the transaction ends nobody else takes, gives or ends tokens of the authorization that a code or a token is of;
 * whoever comes later sees all that was done. Without it those who end all of them and those who use one would wait for
 * each other.
 */
export const holdAuthorization = (sql: Sql, hash: Buffer) => sql`/* all orgs */
  select from oauth_authorizations
  where id = (
    select authorization_id
    from oauth_codes
    where code_hash = ${hash}
    union all
    select authorization_id
    from oauth_tokens
    where refresh_hash = ${hash}
    union all
    select authorization_id
    from oauth_tokens
    where access_hash = ${hash}
    limit 1
  )
  for no key update`;

/** Takes a code, once: whoever comes second gets undefined. */
export async function useCode(sql: Sql, codeHash: Buffer): Promise<UsedCode | undefined> {
  const [row] = await sql<UsedCode[]>`/* all orgs */
    with used as (
      update oauth_codes
      set used_at = now()
      where code_hash = ${codeHash}
        and used_at is null
      returning authorization_id, org_id, redirect_uri, redirect_named, challenge, scope, resource, expires_at
    )
    select c.authorization_id as "authorizationId", c.org_id as "orgId", a.user_id as "userId", a.app_id as "appId",
      c.redirect_uri as "redirectUri",
      c.redirect_named as "redirectNamed", c.challenge, c.scope, c.resource, c.expires_at > now()
        and m.user_id is not null as alive
    from used c
      join oauth_authorizations a on a.id = c.authorization_id
      left join (memberships m
        join users u on u.id = m.user_id and u.activated and u.deleted_at is null
        join organizations o on o.id = m.org_id and o.disabled_at is null and o.deleted_at is null)
          on m.org_id = a.org_id
          and m.user_id = a.user_id
          and not m.disabled`;
  return row;
}

/** Ends what a code has produced, by whatever refreshes; answers the authorization when anything was alive. */
export async function revokeOfCode(sql: Sql, codeHash: Buffer): Promise<Revoked | undefined> {
  const rows = await sql<Revoked[]>`/* all orgs */
    update oauth_tokens
    set revoked_at = now()
    where code_hash = ${codeHash}
      and revoked_at is null
    returning org_id as "orgId", authorization_id as "authorizationId", access_hash as "accessHash"`;
  return rows[0];
}
export interface Revoked {
  orgId: string;
  authorizationId: string;
  accessHash: Buffer;
}

export async function revokeOfAuthorization(sql: Sql, orgId: string, authorizationId: string): Promise<void> {
  await sql`
    update oauth_tokens
    set revoked_at = now()
    where org_id = ${orgId}
      and authorization_id = ${authorizationId}
      and revoked_at is null`;
}

/**
 * Ends the tokens and the unused codes of an authorization that may do more than a scope: they come from an earlier
 * approval, and a token has the scopes of its authorization (MC8). The caller holds the authorization, so that none is
 * made meanwhile. Answers how many tokens were alive.
 */
export async function revokeBeyond(
  sql: Sql,
  orgId: string,
  authorizationId: string,
  scope: readonly Scope[],
): Promise<number> {
  const rows = await sql`
    with codes as (
      update oauth_codes
      set used_at = now()
      where org_id = ${orgId}
        and authorization_id = ${authorizationId}
        and used_at is null
        and not scope <@ ${[...scope]}::text[]
    )
    update oauth_tokens
    set revoked_at = now()
    where org_id = ${orgId}
      and authorization_id = ${authorizationId}
      and revoked_at is null
      and not (scope || refresh_scope) <@ ${[...scope]}::text[]
    returning 1`;
  return rows.length;
}

export const insertPair = (sql: Sql, pair: NewPair) => sql`
  insert into oauth_tokens (id, org_id, authorization_id, code_hash, access_hash, access_expires_at, refresh_hash,
    refresh_expires_at, scope, refresh_scope, resource)
  values (${pair.id}, ${pair.orgId}, ${pair.authorizationId}, ${pair.codeHash}, ${pair.accessHash},
    now() + ${pair.accessSeconds}::int * interval '1 s',
    ${pair.refreshHash}, now() + ${pair.refreshSeconds}::int * interval '1 s', ${[...pair.scope]}::text[],
    ${[...pair.refreshScope]}::text[], ${pair.resource})`;

/** Takes a refresh token, once, for the app it was given to and within its scope and surface. */
export async function useRefresh(
  sql: Sql,
  appId: string,
  {
    refreshHash,
    scope,
    resource,
  }: { refreshHash: Buffer; scope: readonly Scope[] | undefined; resource: Surface | undefined },
): Promise<Refreshed | undefined> {
  const [row] = await sql<Refreshed[]>`/* all orgs */
    update oauth_tokens t
    set refreshed_at = now()
    from oauth_authorizations a
      join memberships m on m.org_id = a.org_id and m.user_id = a.user_id and not m.disabled
      join users u on u.id = m.user_id and u.activated and u.deleted_at is null
      join organizations o on o.id = m.org_id and o.disabled_at is null and o.deleted_at is null
    where t.refresh_hash = ${refreshHash}
      and t.refreshed_at is null
      and t.revoked_at is null
      and t.refresh_expires_at > now()
      and ${scope ? [...scope] : []}::text[] <@ t.refresh_scope
        and coalesce(${resource ?? null}::text = t.resource, true)
      and a.id = t.authorization_id
      and a.app_id = ${appId}
    returning t.org_id as "orgId", t.authorization_id as "authorizationId", t.code_hash as "codeHash",
      t.refresh_scope as "refreshScope", t.resource`;
  return row;
}

/** Why a refresh token was not taken. */
export interface Refused {
  orgId: string;
  authorizationId: string;
  /** It was used before. */
  reused: boolean;
  alive: boolean;
  refreshScope: Scope[];
  resource: Surface | null;
}
export async function refusedRefresh(sql: Sql, appId: string, refreshHash: Buffer): Promise<Refused | undefined> {
  const [row] = await sql<Refused[]>`/* all orgs */
    select t.org_id as "orgId", t.authorization_id as "authorizationId", t.refreshed_at is not null as reused,
      t.revoked_at is null and t.refresh_expires_at > now() as alive, t.refresh_scope as "refreshScope", t.resource
    from oauth_tokens t
    join oauth_authorizations a on a.id = t.authorization_id and a.app_id = ${appId}
    where t.refresh_hash = ${refreshHash}`;
  return row;
}

/**
 * Ends an access token; a refresh token ends with all that comes from its code (RFC 7009 2.1). `clientId`, when given,
 * must be the one it was given to.
 */
export const revokeToken = (sql: Sql, tokenHash: Buffer, clientId: string | undefined) => sql<
  { accessHash: Buffer }[]
>`/* all orgs */
  with token as (
    select t.id, t.code_hash, t.refresh_hash = ${tokenHash} as whole
    from oauth_tokens t
    join oauth_authorizations a on a.id = t.authorization_id
    join oauth_clients c on c.id = a.app_id
    where (t.access_hash = ${tokenHash} or t.refresh_hash = ${tokenHash})
      and coalesce(c.client_id = ${clientId ?? null}, true)
  )
  update oauth_tokens t
  set access_expires_at = least(t.access_expires_at, now()), revoked_at = case
    when token.whole then coalesce(t.revoked_at, now())
    else t.revoked_at end
  from token
  where t.id = token.id or (token.whole and t.code_hash = token.code_hash)
  returning t.access_hash as "accessHash"`;

/** Looks an access token up by its hash (hexadecimal); look-ups that meet travel together. */
export const holderOfToken = groupCommit<string, TokenHolder | undefined>(async (sql, hashes) => {
  const rows = await sql<(TokenHolder & { n: number })[]>`
    /* all orgs */
    select h.n::int, t.id as "tokenId", c.name as program, a.id as "authorizationId", a.user_id as "userId", a.org_id as "orgId",
      m.role_key as "roleKey", r.permissions as granted,
      u.is_super_admin as "isSuperAdmin", t.scope, t.resource, t.access_expires_at as "expiresAt",
      s.tier, s.grace_period_end as "graceEndsAt", ${limitsOfProgram(sql, sql`a.id`)} as limits
    from unnest(${[...hashes]}::text[]) with ordinality as h (hash, n)
      join oauth_tokens t on t.access_hash = decode(h.hash, 'hex') and t.revoked_at is null
      join oauth_authorizations a on a.id = t.authorization_id
      join oauth_clients c on c.id = a.app_id
      join memberships m on m.org_id = a.org_id and m.user_id = a.user_id and not m.disabled
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
      join users u on u.id = a.user_id and u.activated and u.deleted_at is null
      join organizations o on o.id = a.org_id and o.disabled_at is null and o.deleted_at is null
      left join organizations maker on maker.id = c.org_id
      left join subscriptions s on s.org_id = o.id
    where maker.deleted_at is null
      and maker.disabled_at is null`;
  const byInput = new Map(rows.map(({ n, ...holder }) => [n, holder]));
  return hashes.map((_, index) => byInput.get(index + 1));
});

/** Whom access tokens stand for, by their ids and in their order; undefined where one or what it depends on has ended. */
export async function findTokenHolders(
  sql: Sql,
  ids: readonly string[],
  surface: Surface | undefined,
): Promise<(TokenHolder | undefined)[]> {
  const rows = await sql<TokenHolder[]>`
    /* all orgs */
    select t.id as "tokenId", c.name as program, a.id as "authorizationId", a.user_id as "userId", a.org_id as "orgId",
      m.role_key as "roleKey", r.permissions as granted,
      u.is_super_admin as "isSuperAdmin", t.scope, t.resource, t.access_expires_at as "expiresAt",
      s.tier, s.grace_period_end as "graceEndsAt"
    from oauth_tokens t
      join oauth_authorizations a on a.id = t.authorization_id
      join oauth_clients c on c.id = a.app_id
      join memberships m on m.org_id = a.org_id and m.user_id = a.user_id and not m.disabled
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
      join users u on u.id = a.user_id and u.activated and u.deleted_at is null
      join organizations o on o.id = a.org_id and o.disabled_at is null and o.deleted_at is null
      left join organizations maker on maker.id = c.org_id
      left join subscriptions s on s.org_id = o.id
    where t.id = any(${[...ids]}::uuid[])
      and t.revoked_at is null
      and t.access_expires_at > now()
      and (t.resource is null or t.resource = ${surface ?? null})
      and maker.deleted_at is null
      and maker.disabled_at is null`;
  const found = new Map(rows.map((row) => [row.tokenId, row]));
  return ids.map((id) => found.get(id));
}

/** Codes are kept as long as what they produced can live, so that a late second use is still seen. */
export async function dropOldTokens(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ codes: number; tokens: number }[]>`/* all orgs */
    with codes as (
      delete from oauth_codes
      where code_hash in (select code_hash
      from oauth_codes
      where expires_at < now() - interval '31 days'
      limit ${limit})
      returning 1
    ), tokens as (
      delete from oauth_tokens
      where id in (select id from oauth_tokens where refresh_expires_at < now() limit ${limit})
      returning 1
    )
    select (select count(*) from codes)::int as codes, (select count(*) from tokens)::int as tokens`;
  return Math.max(row!.codes, row!.tokens);
}
