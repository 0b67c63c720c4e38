import type { Sql } from '../../platform/db/index.ts';
import type { NewOneTimeCode } from './code-store.ts';

/** The input of a registration, and its browser. */
export interface RegistrationWords {
  browserHash: Buffer;
  passwordHash: string;
  name: string;
  company: string;
  timezone: string;
}

/** Days that a user who does not prove the address is kept, counted from the last registration. */
const DAYS = 7;

/**
 * Keeps what was typed beside a pending user, and a code for the mailbox. The user's own row stays as it is: whoever
 * registers an address once more may be somebody else. The code says nothing of the words: they count where the cookie
 * of their browser is. False: the user does not wait for that any more, and nothing is kept.
 */
export async function keepRegistration(
  sql: Sql,
  userId: string,
  { codeHash, kind, hours }: NewOneTimeCode,
  words: RegistrationWords,
): Promise<boolean> {
  const { count } = await sql`
  with person as (
    select id
    from users
    where id = ${userId}
      and not activated
      and locked_at is null
      and deleted_at is null
    for share
  ), typed as (
    insert into registrations (user_id, browser_hash, password_hash, name, company, timezone)
    select id, ${words.browserHash}, ${words.passwordHash}, ${words.name}, ${words.company}, ${words.timezone}
    from person
  )
  insert into one_time_codes (code_hash, kind, user_id, expires_at)
  select ${codeHash}, ${kind}, id, now() + make_interval(hours => ${hours})
  from person`;
  return count > 0;
}

/** Writes what was typed, the CTE `words`, to profile and org of the CTE `person`. */
const profileAndOrg = (sql: Sql) => sql`
    profile as (
      update user_profiles p
      set name = words.name, timezone = words.timezone
      from person, words
      where p.user_id = person.id
    ), org as (
      update organizations o
      set name = words.company, timezone = words.timezone
      from person, words, memberships m
      where m.user_id = person.id
        and m.role_key = 'owner'
        and o.id = m.org_id
    )`;

/**
 * Makes the user active with what was typed in this browser, or without a password where nothing was. Undefined when
 * there is nothing to activate. What others typed is forgotten.
 */
export async function activateRegistration(
  sql: Sql,
  userId: string,
  browserHash: Buffer,
): Promise<{ hasPassword: boolean } | undefined> {
  const [row] = await sql<{ hasPassword: boolean }[]>`
    with words as (
      select *
      from registrations
      where user_id = ${userId}
        and browser_hash = ${browserHash}
    ), person as (
      update users
      set activated = true, password_hash = (select password_hash from words), last_online = now()
      where id = ${userId}
        and not activated
        and locked_at is null
        and deleted_at is null
      returning id, password_hash is not null as has_password
    ), ${profileAndOrg(sql)}, others as (
      delete from registrations r using person
      where r.user_id = person.id
    )
    select has_password as "hasPassword"
    from person`;
  return row;
}

export const dropRegistrations = (sql: Sql, userId: string) => sql`delete from registrations where user_id = ${userId}`;

/** A pending user `u` of whom nothing is left. */
const isForgotten = (sql: Sql) => sql`
  not u.activated
  and u.locked_at is null
  and u.deleted_at is null
  and u.created_at < now() - make_interval(days => ${DAYS})
  and not exists (select from registrations r where r.user_id = u.id)
  and not exists (select from one_time_codes c where c.user_id = u.id and c.expires_at > now())`;

/** Forgets what was typed seven days ago, at most `limit`; answers how many. */
export async function dropTyped(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from registrations
    where (user_id, browser_hash) in (
      select user_id, browser_hash
      from registrations
      where created_at < now() - make_interval(days => ${DAYS})
      order by created_at
      limit ${limit}
    )`;
  return count;
}

/** Pending users of whom nothing is left, the oldest first, without those named. */
export async function findForgotten(sql: Sql, limit: number, without: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    /* all orgs */
    select u.id
    from users u
    where ${isForgotten(sql)}
      and u.id <> all(${[...without]}::uuid[])
    order by u.created_at
    limit ${limit}`;
  return rows.map(({ id }) => id);
}

/**
 * Deletes those of these users of whom nothing is left, with the orgs that nobody else is in, in the caller's
 * transaction; those that somebody holds stay. They are judged again when they are locked: a registration that was
 * committed between the look and the lock leaves no new version of the user behind.
 */
export async function dropForgotten(tx: Sql, userIds: readonly string[]): Promise<void> {
  const locked = await tx<{ id: string }[]>`
    /* all orgs */
    select u.id
    from users u
    where u.id = any(${[...userIds]}::uuid[])
      and ${isForgotten(tx)}
    for update skip locked`;
  if (locked.length === 0) return;
  await tx`
    /* all orgs */
    with gone as (
      select u.id
      from users u
      where u.id = any(${locked.map(({ id }) => id)}::uuid[])
        and ${isForgotten(tx)}
    ), orgs as (
      delete from organizations o using memberships m, gone
      where m.org_id = o.id
        and m.user_id = gone.id
        and not exists (select from memberships other where other.org_id = o.id and other.user_id <> gone.id)
    )
    delete from users u using gone
    where u.id = gone.id`;
}
