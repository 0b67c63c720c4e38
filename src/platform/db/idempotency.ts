import { AppError } from '../kernel/index.ts';
import type { Sql } from './client.ts';

/** Whose key it is. `scope`: who asked, and for what (`scopeOfUser`). `claim`: of the request that works on it. */
export interface KeyClaim {
  orgId: string;
  scope: string;
  key: string;
  claim: string;
}
export type KeyState =
  | { kind: 'claimed' }
  | { kind: 'running' }
  | { kind: 'mismatch' }
  | { kind: 'done'; status: number; reply: string };

/**
 * Takes a key that is new, a day old, or left behind by a request that died; else says what became of its first use.
 * `holdMs`: after so long a request that has not completed it counts as dead.
 */
export async function claimKey(
  sql: Sql,
  { orgId, scope, key, claim }: KeyClaim,
  bodyHash: Buffer,
  holdMs: number,
): Promise<KeyState> {
  const taken = await sql`
    insert into idempotency_keys as k (org_id, scope, key, body_hash, claim, claimed_until)
    values (${orgId}, ${scope}, ${key}, ${bodyHash}, ${claim},
      now() + ${holdMs}::float8 * interval '1 ms')
    on conflict (org_id, scope, key) do update
      set body_hash = excluded.body_hash, claim = excluded.claim, claimed_until = excluded.claimed_until,
        created_at = now(), status = null, reply = null
      where k.created_at < now() - interval '24 hours'
        or (k.status is null and k.claimed_until < now() and k.body_hash = excluded.body_hash)
    returning 1`;
  if (taken.length > 0) return { kind: 'claimed' };
  const [row] = await sql<{ bodyHash: Buffer; status: number | null; reply: string | null }[]>`
    select body_hash as "bodyHash", status, reply
    from idempotency_keys
    where org_id = ${orgId} and scope = ${scope} and key = ${key}`;
  if (!row) return { kind: 'running' }; // given back this moment
  if (!row.bodyHash.equals(bodyHash)) return { kind: 'mismatch' };
  return row.status === null ? { kind: 'running' } : { kind: 'done', status: row.status, reply: row.reply ?? '' };
}

/**
 * Writes the answer with its effect. False when the claim is no longer this request's: then its effect must not be
 * committed.
 */
export async function completeKey(
  sql: Sql,
  { orgId, scope, key, claim }: KeyClaim,
  status: number,
  reply: string,
): Promise<boolean> {
  const rows = await sql`
    update idempotency_keys
    set status = ${status}, reply = ${reply}
    where org_id = ${orgId}
      and scope = ${scope}
      and key = ${key}
      and claim = ${claim}
      and status is null
    returning 1`;
  return rows.length > 0;
}

/** Prolongs a claim to so many milliseconds from now, while nobody else has taken the key over. */
export async function renewKey(sql: Sql, { orgId, scope, key, claim }: KeyClaim, holdMs: number): Promise<void> {
  await sql`
    update idempotency_keys
    set claimed_until = greatest(claimed_until, now() + ${holdMs}::float8 * interval '1 ms')
    where org_id = ${orgId}
      and scope = ${scope}
      and key = ${key}
      and claim = ${claim}
      and status is null`;
}

/** The key of a request, and the answer to what comes of it, for whoever repeats the request. */
export interface KeptAnswer<T> {
  key: KeyClaim;
  status: number;
  reply(result: T): string;
}

/**
 * Keeps the answer in the transaction of the effect: kept in a commit of its own it would be lost with the process, and
 * whoever repeats the request would have it done twice.
 * @throws AppError `conflict` where another request has taken the key over: the effect must not be committed
 */
export async function keepAnswer<T>(tx: Sql, kept: KeptAnswer<T> | undefined, result: T): Promise<void> {
  if (kept && !(await completeKey(tx, kept.key, kept.status, kept.reply(result))))
    throw new AppError('conflict', 'Another request with this Idempotency-Key took over');
}

/** The answer that is kept under a key; undefined while there is none. */
export async function findReply(sql: Sql, { orgId, scope, key }: Omit<KeyClaim, 'claim'>): Promise<string | undefined> {
  const [row] = await sql<{ reply: string | null }[]>`
    select reply
    from idempotency_keys
    where org_id = ${orgId}
      and scope = ${scope}
      and key = ${key}
      and status is not null`;
  return row?.reply ?? undefined;
}

/** Gives a key back, as if it had not been used. */
export const releaseKey = (sql: Sql, { orgId, scope, key, claim }: KeyClaim) => sql`
  delete from idempotency_keys
  where org_id = ${orgId} and scope = ${scope} and key = ${key} and claim = ${claim} and status is null`;

/** The scope of a user's requests for something: a stored answer may show a secret, so it is theirs alone. */
export const scopeOfUser = (userId: string, what: string): string => `${userId} ${what}`;

/**
 * Deletes the answers to somebody's requests, in every organization, and answers how many. All keys are read for it:
 * there are those of a day.
 */
export async function deleteKeysOfUser(sql: Sql, userId: string): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from idempotency_keys
    where starts_with(scope, ${scopeOfUser(userId, '')})`;
  return count;
}

/** Drops at most `limit` keys older than a day; answers how many. */
export async function dropOldKeys(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from idempotency_keys
    where ctid = any(array(
      select ctid
      from idempotency_keys
      where created_at < now() - interval '24 hours'
      order by created_at
      limit ${limit}
      for update skip locked))`;
  return count;
}
