import { isUniqueViolation, type Sql } from '../../platform/db/index.ts';

/** The credentials of a user who logs in here; `passwordHash` is null for who logs in elsewhere. */
export interface LocalAccount {
  userId: string;
  email: string;
  name: string;
  passwordHash: string | null;
  activated: boolean;
  /** By a super-admin: not activated, and not to be activated by a mail. */
  locked: boolean;
  /** Logs in here, not at a provider. */
  isLocal: boolean;
}

const columns = (sql: Sql) =>
  sql`
    u.id as "userId", u.email, p.name, u.password_hash as "passwordHash", u.activated,
    u.locked_at is not null as locked, u.provider_name = 'local' as "isLocal"`;

// Addresses are ASCII. PostgreSQL would fold other letters into theirs (İ into i), and each such spelling would have a
// limit of guesses of its own.
const isAscii = (text: string) => /^[ -~]*$/.test(text);

/**
 * The account of an address. Of one that waits for its activation the password is the one that was typed in this
 * browser, else the one typed last: it opens nothing, but whoever typed it is told to answer the mail.
 */
export async function localAccount(
  sql: Sql,
  email: string,
  browserHash: Buffer | null = null,
): Promise<LocalAccount | undefined> {
  const [row] = await sql<LocalAccount[]>`
    select u.id as "userId", u.email, p.name, u.activated, u.locked_at is not null as locked, true as "isLocal",
      coalesce(u.password_hash, (
        select r.password_hash
        from registrations r
        where r.user_id = u.id
          and not u.activated
        order by (r.browser_hash = ${browserHash}::bytea) is true desc, r.created_at desc
        limit 1
      )) as "passwordHash"
    from users u
    join user_profiles p on p.user_id = u.id
    where ${isAscii(email)}
      and lower(u.email) = lower(${email})
      and u.provider_name = 'local'
      and u.deleted_at is null`;
  return row;
}

export async function findAccount(sql: Sql, userId: string): Promise<LocalAccount | undefined> {
  const [row] = await sql<LocalAccount[]>`
    select ${columns(sql)}
    from users u
    join user_profiles p on p.user_id = u.id
    where u.id = ${userId}
      and u.deleted_at is null`;
  return row;
}

/** Tells whether the hash is still this one; it stays so until the transaction ends. */
export async function holdPassword(sql: Sql, userId: string, passwordHash: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from users
    where id = ${userId}
      and password_hash = ${passwordHash}
      and activated
      and deleted_at is null
    for share`;
  return rows.length > 0;
}

/** True while the hash is still the one that was verified: of two changes at once one holds. */
export async function replacePassword(
  sql: Sql,
  userId: string,
  oldHash: string | null,
  newHash: string,
): Promise<boolean> {
  const rows = await sql`
    update users
    set password_hash = ${newHash}
    where id = ${userId}
      and password_hash is not distinct from ${oldHash}
      and deleted_at is null
    returning 1`;
  return rows.length > 0;
}

/** By a code of a mail: whoever reads that mailbox is the user, so the account is active from now on. */
export async function resetPassword(sql: Sql, userId: string, newHash: string): Promise<LocalAccount | undefined> {
  const [row] = await sql<LocalAccount[]>`
    update users u
    set password_hash = ${newHash}, activated = true
    from user_profiles p
    where u.id = ${userId}
      and p.user_id = u.id
      and u.provider_name = 'local'
      and u.locked_at is null
      and u.deleted_at is null
    returning ${columns(sql)}`;
  return row;
}

/** Tells whether another user who logs in here has the address. */
export async function isTaken(sql: Sql, email: string): Promise<boolean> {
  const [row] = await sql<{ taken: boolean }[]>`
    select exists (select 1
    from users
    where lower(email) = lower(${email})
      and provider_name = 'local'
      and deleted_at is null) as taken`;
  return row!.taken;
}

/**
 * Ends the transaction with an error for which `isAddressTaken` holds when somebody has the address; false: the user is
 * gone.
 */
export async function changeAddress(sql: Sql, userId: string, email: string): Promise<boolean> {
  const rows = await sql`update users set email = ${email} where id = ${userId} and deleted_at is null returning 1`;
  return rows.length > 0;
}
export const isAddressTaken = (error: unknown): boolean => isUniqueViolation(error, 'users_email_provider');
