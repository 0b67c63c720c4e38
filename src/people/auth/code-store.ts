import type { Sql } from '../../platform/db/index.ts';

/** The kinds of codes in mails. A code of one kind is none of another (S28). */
export type CodeKind = 'activate' | 'reset' | 'email';

export interface NewOneTimeCode {
  codeHash: Buffer;
  kind: CodeKind;
  hours: number;
}
export interface Redeemed {
  userId: string;
  email: string | null;
}
export interface Addressee {
  userId: string;
  email: string;
  name: string;
}
export interface MailRequest {
  kind: 'activate' | 'reset';
  email: string;
  ip: string;
}

export const insertOneTimeCode = (
  sql: Sql,
  userId: string,
  { codeHash, kind, hours }: NewOneTimeCode,
  bound: { email?: string } = {},
) => sql`
  insert into one_time_codes (code_hash, kind, user_id, email, expires_at)
  values (${codeHash}, ${kind}, ${userId}, ${bound.email ?? null}, now() + make_interval(hours => ${hours}))`;

/** A code for whoever has the address and needs it: one of `activate` only for who is not active. */
export async function insertCodeFor(
  sql: Sql,
  email: string,
  { codeHash, kind, hours }: NewOneTimeCode,
): Promise<Addressee | undefined> {
  const [row] = await sql<Addressee[]>`
    with person as (
      select u.id, u.email, p.name
      from users u
      join user_profiles p on p.user_id = u.id
      where lower(u.email) = lower(${email})
        and u.provider_name = 'local'
        and u.locked_at is null
        and u.deleted_at is null
        and (${kind} <> 'activate' or not u.activated)
    ), code as (
      insert into one_time_codes (code_hash, kind, user_id, expires_at)
      select ${codeHash}, ${kind}, id, now() + make_interval(hours => ${hours})
      from person
    )
    select id as "userId", email, name
    from person`;
  return row;
}

/** Tells whether the code could be redeemed now. */
export async function isLive(sql: Sql, kind: CodeKind, codeHash: Buffer): Promise<boolean> {
  const [row] = await sql<{ live: boolean }[]>`
    select exists (select 1
    from one_time_codes
    where code_hash = ${codeHash}
      and kind = ${kind}
      and expires_at > now()) as live`;
  return row!.live;
}

/**
 * Uses the code up: of any number of uses at once one gets the row; with `userId` only when it is that user's. The user
 * is held first: whoever uses two codes of one user at once would else have each wait for the other.
 */
export async function redeem(
  sql: Sql,
  kind: CodeKind,
  codeHash: Buffer,
  userId: string | null = null,
): Promise<Redeemed | undefined> {
  const [row] = await sql<Redeemed[]>`
    with person as (
      select id
      from users
      where id = (select user_id from one_time_codes where code_hash = ${codeHash})
      for no key update
    )
    delete from one_time_codes c using person
    where c.code_hash = ${codeHash}
      and c.kind = ${kind}
      and c.expires_at > now()
      and c.user_id = person.id
      and c.user_id = coalesce(${userId}::uuid, c.user_id)
    returning c.user_id as "userId", c.email`;
  return row;
}

/** Every code of a user, or those of one kind. */
export const dropCodes = (sql: Sql, userId: string, kind: CodeKind | null = null) => sql`
  delete from one_time_codes
  where user_id = ${userId}
    and kind = coalesce(${kind}, kind)`;

export async function dropExpiredCodes(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`
    delete from one_time_codes
    where code_hash in (select code_hash
    from one_time_codes
    where expires_at < now()
    order by expires_at
    limit ${limit})
    returning 1`;
  return rows.length;
}

export const insertMailRequest = (sql: Sql, request: MailRequest & { id: string }) => sql`
  insert into mail_requests (id, kind, email, ip)
  values (${request.id}, ${request.kind}, ${request.email}, ${request.ip})`;

/** Forgets requests that could not be worked off in a day, at most `limit`; answers how many. Their ids tell their age. */
export async function dropOldMailRequests(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from mail_requests
    where id in (
      select id
      from mail_requests
      where id < rpad(lpad(to_hex((extract(epoch from now() - interval '1 day') * 1000)::bigint), 12, '0'), 32, '0')::uuid
      order by id
      limit ${limit}
      for update skip locked
    )`;
  return count;
}

/**
 * The oldest request that nobody works on, beside those that are `left`; it is gone when the transaction commits.
 */
export async function takeMailRequest(
  sql: Sql,
  left: readonly string[],
): Promise<(MailRequest & { id: string }) | undefined> {
  const [row] = await sql<(MailRequest & { id: string })[]>`
    delete from mail_requests
    where id = (
      select id
      from mail_requests
      where id <> all(${[...left]}::uuid[])
      order by id
      limit 1
      for update skip locked
    )
    returning id, kind, email, ip`;
  return row;
}
