import type { Permission } from '../../people/access/index.ts';
import type { Sql } from '../../platform/db/index.ts';

export interface NewImpersonation {
  id: string;
  adminId: string;
  userId: string;
  sessionId: string;
  reason: string;
}
/** Whom a super-admin acts as, in the org that the user would act for. */
export interface ActedAs {
  userId: string;
  orgId: string;
  roleKey: string;
  granted: Permission[] | null;
}

/** Begins one for an hour; undefined when there is no such user, or it is a super-admin. */
export async function begin(
  sql: Sql,
  { id, adminId, userId, sessionId, reason }: NewImpersonation,
): Promise<{ expiresAt: Date; email: string } | undefined> {
  const [row] = await sql<{ expiresAt: Date; email: string }[]>`
    with begun as (
      insert into impersonations (id, admin_id, user_id, session_id, reason, expires_at)
      select ${id}, ${adminId}, u.id, ${sessionId}, ${reason}, now() + interval '1 hour'
      from users u
      where u.id = ${userId}
        and u.deleted_at is null
        and u.activated
        and not u.is_super_admin
      returning user_id, expires_at
    )
    select b.expires_at as "expiresAt", u.email
    from begun b
    join users u on u.id = b.user_id`;
  return row;
}

/** Ends what a session acts as; answers the users. */
export async function end(sql: Sql, sessionId: string): Promise<string[]> {
  const rows = await sql<{ userId: string }[]>`
    update impersonations
    set ended_at = now()
    where session_id = ${sessionId}
      and ended_at is null
      and expires_at > now()
    returning user_id as "userId"`;
  return rows.map(({ userId }) => userId);
}

/**
 * Whom it stands for, while it, the session, the super-admin and the user are what they were; the org as for a session
 * of the user (S45).
 */
export async function actedAs(
  sql: Sql,
  { id, adminId, userId, sessionId, wantedOrgs }: Omit<NewImpersonation, 'reason'> & { wantedOrgs: readonly string[] },
): Promise<ActedAs | undefined> {
  const [row] = await sql<ActedAs[]>`
    select i.user_id as "userId", m.org_id as "orgId", m.role_key as "roleKey", m.granted
    from impersonations i
      join sessions s on s.id = i.session_id and s.user_id = i.admin_id and s.revoked_at is null
      join users a on a.id = i.admin_id and a.is_super_admin and a.activated and a.deleted_at is null
      join users u on u.id = i.user_id and not u.is_super_admin and u.activated and u.deleted_at is null
      join lateral (
        select m.org_id, m.role_key, r.permissions as granted
        from memberships m
          join organizations o on o.id = m.org_id and o.deleted_at is null and o.disabled_at is null
          left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
        where m.user_id = u.id
          and not m.disabled
        order by array_position(${wantedOrgs}::uuid[], m.org_id), m.last_used_at desc nulls last, m.created_at, m.org_id
        limit 1
      ) m on true
    where i.id = ${id}
      and i.admin_id = ${adminId}
      and i.user_id = ${userId}
      and i.session_id = ${sessionId}
      and i.ended_at is null
      and i.expires_at > now()`;
  return row;
}

/** Forgets those that ended a day ago; the audit log keeps that they were. */
export async function dropOld(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from impersonations
    where id = any(array(select id
    from impersonations
    where expires_at < now() - interval '1 day'
    order by expires_at
    limit ${limit}))`;
  return count;
}
