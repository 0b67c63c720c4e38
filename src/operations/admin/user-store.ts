import type { Sql } from '../../platform/db/index.ts';

export interface UserRow {
  id: string;
  email: string;
  name: string;
  lastName: string;
  providerName: string;
  activated: boolean;
  isSuperAdmin: boolean;
  lastOnline: Date | null;
  createdAt: Date;
  /** Where the membership is enabled. */
  orgs: number;
}
export interface UserChange {
  activated?: boolean | undefined;
  isSuperAdmin?: boolean | undefined;
}

const columns = (sql: Sql) => sql`
  u.id, u.email, p.name, p.last_name as "lastName", u.provider_name as "providerName", u.activated,
  u.is_super_admin as "isSuperAdmin",
  u.last_online as "lastOnline", u.created_at as "createdAt",
  (select count(*)::int from memberships m where m.user_id = u.id and not m.disabled) as orgs`;

/** Newest first. `search`: a part of the address or the names, or the id. */
export const listUsers = (
  sql: Sql,
  { search, before, limit }: { search?: string | undefined; before?: string | undefined; limit: number },
) => sql<UserRow[]>`
  select ${columns(sql)}
  from users u
  join user_profiles p on p.user_id = u.id
  where u.deleted_at is null ${before === undefined ? sql`` : sql`and u.id < ${before}`}
    ${
      search === undefined
        ? sql``
        : sql`and (position(lower(${search}) in lower(u.email)) > 0 or position(lower(${search}) in lower(p.name || ' ' || p.last_name)) > 0 or u.id::text = ${search})`
    }
  order by u.id desc
  limit ${limit}`;

export async function findUser(sql: Sql, userId: string): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`
    select ${columns(sql)}
    from users u
    join user_profiles p on p.user_id = u.id
    where u.id = ${userId}
      and u.deleted_at is null`;
  return row;
}

/** Updates a user. Who is not activated by this is locked out, until they are activated by it: no mail does that. */
export const updateUser = (sql: Sql, userId: string, { activated, isSuperAdmin }: UserChange) => sql`
  update users
  set is_super_admin = coalesce(${isSuperAdmin ?? null}, is_super_admin)
    ${activated === undefined ? sql`` : sql`, activated = ${activated}, locked_at = case when not ${activated} then coalesce(locked_at, now()) end`}
  where id = ${userId}
    and deleted_at is null`;
