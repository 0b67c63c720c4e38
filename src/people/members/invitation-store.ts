import type { Sql } from '../../platform/db/index.ts';

export interface InvitationRow {
  id: string;
  email: string;
  roleKey: string;
  /** Null for a system role. */
  roleName: string | null;
  invitedBy: { id: string; name: string; email: string };
  expiresAt: Date;
  createdAt: Date;
}
export interface OpenInvitation {
  id: string;
  orgId: string;
  email: string;
  roleKey: string;
  invitedBy: string;
}

export const listInvitations = (sql: Sql, orgId: string) => sql<InvitationRow[]>`
  select i.id, i.email, i.role_key as "roleKey", r.name as "roleName",
    json_build_object('id', u.id, 'name', p.name, 'email', u.email) as "invitedBy",
    i.expires_at as "expiresAt", i.created_at as "createdAt"
  from invitations i
  join users u on u.id = i.invited_by
  join user_profiles p on p.user_id = u.id
  left join roles r on r.org_id = i.org_id and r.id::text = i.role_key
  where i.org_id = ${orgId}
    and i.expires_at > now()
  order by i.created_at desc, i.id desc`;

/** A member with this address, disabled or not. */
export async function hasMemberWith(sql: Sql, orgId: string, email: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from memberships m
    join users u on u.id = m.user_id and u.deleted_at is null
    where m.org_id = ${orgId}
      and lower(u.email) = lower(${email})
    limit 1`;
  return rows.length > 0;
}

/**
 * One open invitation for each address: a new one takes the place of the one before, whose link leads nowhere from then
 * on.
 */
export async function putInvitation(
  sql: Sql,
  orgId: string,
  given: { id: string; email: string; roleKey: string; tokenHash: Buffer; invitedBy: string },
): Promise<Date> {
  const [row] = await sql<{ expiresAt: Date }[]>`
    insert into invitations (id, org_id, email, role_key, token_hash, invited_by)
    values (${given.id}, ${orgId}, ${given.email}, ${given.roleKey}, ${given.tokenHash}, ${given.invitedBy})
    on conflict (org_id, lower(email)) do update set id = excluded.id, email = excluded.email,
      role_key = excluded.role_key, token_hash = excluded.token_hash,
      invited_by = excluded.invited_by, created_at = excluded.created_at, expires_at = excluded.expires_at
    returning expires_at as "expiresAt"`;
  return row!.expiresAt;
}

/** The key of the role that an open invitation of this address grants. */
export async function openRoleOf(sql: Sql, orgId: string, email: string): Promise<string | undefined> {
  const [row] = await sql<{ roleKey: string }[]>`
    select role_key as "roleKey"
    from invitations
    where org_id = ${orgId}
      and lower(email) = lower(${email})
      and expires_at > now()`;
  return row?.roleKey;
}

/** Those to other addresses: an invitation of `email` is replaced by a new one. */
export async function countOpenOfOthers(sql: Sql, orgId: string, email: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from invitations
    where org_id = ${orgId}
      and expires_at > now()
      and lower(email) <> lower(${email})`;
  return row!.count;
}

export async function deleteInvitation(sql: Sql, orgId: string, id: string): Promise<OpenInvitation | undefined> {
  const [row] = await sql<OpenInvitation[]>`
    delete from invitations
    where org_id = ${orgId}
      and id = ${id}
      and expires_at > now()
    returning id, org_id as "orgId", email, role_key as "roleKey", invited_by as "invitedBy"`;
  return row;
}

/**
 * Whom a link invites, and where to: the link is all that its bearer knows. None of an inviter who is locked out: their
 * account may have been somebody else's when it was made.
 */
export async function invitationOf(sql: Sql, tokenHash: Buffer): Promise<OpenInvitation | undefined> {
  const [row] = await sql<OpenInvitation[]>`
    select i.id, i.org_id as "orgId", i.email, i.role_key as "roleKey", i.invited_by as "invitedBy"
    from invitations i
    join organizations o on o.id = i.org_id and o.deleted_at is null
    join users inviter on inviter.id = i.invited_by and inviter.activated and inviter.deleted_at is null
    where i.token_hash = ${tokenHash}
      and i.expires_at > now()`;
  return row;
}

export async function emailOfUser(sql: Sql, userId: string): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`select email from users where id = ${userId} and deleted_at is null`;
  return row?.email;
}

/** For the mail. */
export async function namesFor(
  sql: Sql,
  orgId: string,
  userId: string,
): Promise<{ orgName: string; inviterName: string }> {
  const [row] = await sql<{ orgName: string; inviterName: string }[]>`
    select o.name as "orgName", coalesce(nullif(trim(p.name || ' ' || p.last_name), ''), u.email) as "inviterName"
    from organizations o, users u
    join user_profiles p on p.user_id = u.id
    where o.id = ${orgId}
      and u.id = ${userId}`;
  return row!;
}

export async function dropOldInvitations(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`
    /* all orgs */
      delete from invitations
      where id in (select id from invitations where expires_at < now() order by expires_at limit ${limit})
      returning 1`;
  return rows.length;
}

/**
 * Invitations to people who are gone, by their addresses until then; answers how many. An address that somebody else
 * has now is theirs: another account at a provider, or one that was registered afterwards.
 */
export async function forgetInvitations(
  sql: Sql,
  people: readonly { email: string; deletedAt: Date }[],
): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from invitations i
    using unnest(${people.map(({ email }) => email.toLowerCase())}::text[],
      ${people.map(({ deletedAt }) => deletedAt.toISOString())}::timestamptz[])
      as p (address, until)
    where lower(i.email) = p.address
      and i.created_at <= p.until
      and not exists (select from users u where lower(u.email) = p.address and u.deleted_at is null)`;
  return count;
}
