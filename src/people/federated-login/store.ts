import type { Sql } from '../../platform/db/index.ts';

/** `consent`: away at the provider. `nonce`: for a wallet to sign. `account`: known, and to be registered. */
export type LoginStateKind = 'consent' | 'nonce' | 'account';

/** A row is found by what only the browser knows, and by the cookie that it is bound to; both as SHA-256. */
export interface Key {
  hash: Buffer;
  browserHash: Buffer;
  providerId: string;
}

export const insertLoginState = (
  sql: Sql,
  kind: LoginStateKind,
  { hash, browserHash, providerId }: Key,
  sealed: string,
  lifeMs: number,
): Promise<unknown> => sql`
  insert into login_states (hash, kind, browser_hash, provider_id, sealed, expires_at)
  values (${hash}, ${kind}, ${browserHash}, ${providerId}, ${sealed}, now() + ${lifeMs}::float8 * interval '1 ms')`;

/** Uses it up; undefined: unknown, expired, used before, of another kind, browser or provider. */
export async function takeLoginState(
  sql: Sql,
  kind: LoginStateKind,
  { hash, browserHash, providerId }: Key,
): Promise<string | undefined> {
  const [row] = await sql<{ sealed: string }[]>`
    delete from login_states
    where hash = ${hash}
      and kind = ${kind}
      and browser_hash = ${browserHash}
      and provider_id = ${providerId}
      and expires_at > now()
    returning sealed`;
  return row?.sealed;
}

/** Forgets at most `limit` that nobody ended in time; answers how many. */
export async function dropOldLoginStates(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from login_states
    where hash = any(array(select hash from login_states where expires_at < now() order by expires_at limit ${limit}))`;
  return count;
}
