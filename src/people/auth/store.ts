import type { Permission } from '../access/index.ts';
import type { Sql } from '../../platform/db/index.ts';

export interface Device {
  ip: string;
  userAgent: string;
}
/** A session lives 30 days from its last use, and 180 from its login however much it is used. */
const LIFE = '30 days';
const LONGEST_LIFE = '180 days';
export interface SessionRow {
  id: string;
  userAgent: string;
  ip: string;
  lastUsedAt: Date;
  createdAt: Date;
}
/** Whom a session stands for, in the org it acts for; `orgId` is null when the user has no live membership. */
export interface SessionHolder {
  userId: string;
  isSuperAdmin: boolean;
  revoked: boolean;
  orgId: string | null;
  roleKey: string | null;
  /** The permissions of a custom role. */
  granted: Permission[] | null;
}
/** The same of a session that lives, in an organization that its user belongs to. */
export interface Holding {
  userId: string;
  orgId: string;
  roleKey: string;
  granted: Permission[] | null;
  isSuperAdmin: boolean;
}
export interface Rotation {
  sessionId: string;
  oldHash: Buffer;
  newHash: Buffer;
  device: Device;
}
export interface SessionUse {
  sessionId: string;
  userId: string;
  orgId: string;
  at: Date;
}

export const insertSession = (
  sql: Sql,
  session: { id: string; userId: string; tokenHash: Buffer; device: Device },
) => sql`
  insert into sessions (id, user_id, token_hash, user_agent, ip, expires_at)
  values (${session.id}, ${session.userId}, ${session.tokenHash}, ${session.device.userAgent}, ${session.device.ip},
    now() + ${LIFE}::interval)`;

/** The org is the first wanted one that the user belongs to, else the one last used, else the oldest (S45). */
export async function sessionHolder(
  sql: Sql,
  session: { id: string; userId: string; wantedOrgs: readonly string[] },
): Promise<SessionHolder | undefined> {
  const [row] = await sql<SessionHolder[]>`
    select u.id as "userId", u.is_super_admin as "isSuperAdmin", s.revoked_at is not null
      or s.expires_at <= now() as revoked, m.org_id as "orgId", m.role_key as "roleKey", m.granted
    from sessions s
      join users u on u.id = s.user_id and u.activated and u.deleted_at is null
      left join lateral (
        select m.org_id, m.role_key, r.permissions as granted
        from memberships m
        join organizations o on o.id = m.org_id and o.disabled_at is null and o.deleted_at is null
        left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
        where m.user_id = s.user_id
          and not m.disabled
        order by array_position(${session.wantedOrgs}::uuid[], m.org_id), m.last_used_at desc nulls last, m.created_at,
          m.org_id
        limit 1
      ) m on true
    where s.id = ${session.id}
      and s.user_id = ${session.userId}`;
  return row;
}

/** Whom sessions stand for in organizations that they act for, in their order; undefined where one of them has ended. */
export async function findSessionHolders(
  sql: Sql,
  sessions: readonly { sessionId: string; userId: string; orgId: string }[],
): Promise<(Holding | undefined)[]> {
  const rows = await sql<(Holding & { n: number })[]>`/* all orgs */
    select t.n::int, u.id as "userId", m.org_id as "orgId", m.role_key as "roleKey", r.permissions as granted,
      u.is_super_admin as "isSuperAdmin"
    from unnest(
      ${sessions.map(({ sessionId }) => sessionId)}::uuid[], ${sessions.map(({ userId }) => userId)}::uuid[],
      ${sessions.map(({ orgId }) => orgId)}::uuid[]
    ) with ordinality as t (session_id, user_id, org_id, n)
      join sessions s on s.id = t.session_id and s.user_id = t.user_id and s.revoked_at is null and s.expires_at > now()
      join users u on u.id = s.user_id and u.activated and u.deleted_at is null
      join memberships m on m.org_id = t.org_id and m.user_id = s.user_id and not m.disabled
      join organizations o on o.id = m.org_id and o.disabled_at is null and o.deleted_at is null
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key`;
  const found = new Map(rows.map(({ n, ...holder }) => [n, holder]));
  return sessions.map((_, n) => found.get(n + 1));
}

/**
 * Puts the next token in the place of the current one; answers when, or undefined when the token is not the current one
 * of a living session.
 */
export async function rotateSession(
  sql: Sql,
  { sessionId, oldHash, newHash, device }: Rotation,
): Promise<{ userId: string; rotatedAt: Date } | undefined> {
  const [row] = await sql<{ userId: string; rotatedAt: Date }[]>`
    update sessions s
    set token_hash = ${newHash}, previous_token_hash = s.token_hash, rotated_at = now(), last_used_at = now(),
      expires_at = least(now() + ${LIFE}::interval, s.created_at + ${LONGEST_LIFE}::interval),
      user_agent = ${device.userAgent}, ip = ${device.ip}
    from users u
    where s.id = ${sessionId}
      and s.token_hash = ${oldHash}
      and s.revoked_at is null
      and s.expires_at > now()
      and u.id = s.user_id
      and u.deleted_at is null
    returning s.user_id as "userId", s.rotated_at as "rotatedAt"`;
  return row;
}

/** The rotation that this token has just been through, for the same agent and address within 10 s (S39). */
export async function recentRotation(
  sql: Sql,
  { sessionId, oldHash, device }: Rotation,
): Promise<{ userId: string; rotatedAt: Date } | undefined> {
  const [row] = await sql<{ userId: string; rotatedAt: Date }[]>`
    select s.user_id as "userId", s.rotated_at as "rotatedAt"
    from sessions s
    join users u on u.id = s.user_id and u.deleted_at is null
    where s.id = ${sessionId}
      and s.previous_token_hash = ${oldHash}
      and s.revoked_at is null
      and s.expires_at > now()
      and s.rotated_at > now() - interval '10 seconds'
      and s.user_agent = ${device.userAgent}
      and s.ip = ${device.ip}`;
  return row;
}

/**
 * A token of ours that is neither the current one nor within its grace has been stolen, or was stolen from: the session
 * ends.
 */
export const revokeStolen = (sql: Sql, sessionId: string) =>
  sql`
    update sessions
    set revoked_at = now()
    where id = ${sessionId}
      and revoked_at is null
      and expires_at > now()
    returning 1`;

export const sessionsOf = (sql: Sql, userId: string) => sql<SessionRow[]>`
  select id, user_agent as "userAgent", ip, last_used_at as "lastUsedAt", created_at as "createdAt"
  from sessions
  where user_id = ${userId}
    and revoked_at is null
    and expires_at > now()
  order by last_used_at desc, id desc`;

/** True when the session is one of the user's, revoked before or not. */
export async function revokeSession(sql: Sql, userId: string, sessionId: string): Promise<boolean> {
  const rows = await sql`
      update sessions
      set revoked_at = coalesce(revoked_at, now())
      where id = ${sessionId}
        and user_id = ${userId}
      returning 1`;
  return rows.length > 0;
}

/** True when the session was alive. */
export async function endSession(sql: Sql, userId: string, sessionId: string): Promise<boolean> {
  const rows = await sql`
    update sessions
    set revoked_at = now()
    where id = ${sessionId}
      and user_id = ${userId}
      and revoked_at is null
      and expires_at > now()
    returning 1`;
  return rows.length > 0;
}

/**
 * Ends the living sessions of a user, but for one; answers how many. In a transaction: the user is locked first, as by
 * whoever notes use of several sessions.
 */
export async function revokeSessions(sql: Sql, userId: string, except: string | null = null): Promise<number> {
  await sql`select 1 from users where id = ${userId} for no key update`;
  const rows = await sql`
    update sessions
    set revoked_at = now()
    where user_id = ${userId}
      and revoked_at is null
      and expires_at > now()
      and id is distinct from ${except}::uuid
    returning 1`;
  return rows.length;
}

/**
 * Ends every living session, but for one; answers how many. Users first, in the order in which notes of use lock them.
 */
export async function revokeEverySession(sql: Sql, except: string): Promise<number> {
  await sql`
    select 1
    from users
    where id in (select user_id from sessions where revoked_at is null and expires_at > now())
    order by id
    for no key update`;
  const rows = await sql`
      update sessions
      set revoked_at = now()
      where revoked_at is null
        and expires_at > now()
        and id <> ${except}
      returning 1`;
  return rows.length;
}

/** Holds a session until the transaction ends: whoever ends it meanwhile waits for that. False: it has ended. */
export async function holdSession(sql: Sql, sessionId: string): Promise<boolean> {
  const rows = await sql`
    select
    from sessions
    where id = ${sessionId}
      and revoked_at is null
      and expires_at > now()
    for share`;
  return rows.length > 0;
}

/** When the user logged in for this session. */
export async function startOfSession(sql: Sql, userId: string, sessionId: string): Promise<Date | undefined> {
  const [row] = await sql<
    { createdAt: Date }[]
  >`select created_at as "createdAt" from sessions where id = ${sessionId} and user_id = ${userId}`;
  return row?.createdAt;
}

/** Sessions that ended 30 days ago: their tokens are refused as unknown ones from then on. */
export async function dropEndedSessions(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`
    delete from sessions
    where id in (
      select id
      from sessions
      where least(expires_at, revoked_at) < now() - interval '30 days'
      order by least(expires_at, revoked_at)
      limit ${limit}
    )
    returning 1`;
  return rows.length;
}

/** The uses as rows, in the order of their sessions. */
function used(sql: Sql, uses: readonly SessionUse[]) {
  const ordered = uses.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
  return sql`
    used as (
      select *
      from unnest(
        ${ordered.map((use) => use.sessionId)}::uuid[], ${ordered.map((use) => use.userId)}::uuid[],
        ${ordered.map((use) => use.orgId)}::uuid[],
        ${ordered.map((use) => use.at.toISOString())}::timestamptz[]
      ) as t (session_id, user_id, org_id, at)
    )`;
}

/** Notes that the users of the CTE `used` were online: the CTE `person`. */
const online = (sql: Sql) => sql`
    held as materialized ( -- before what is theirs, and in the order in which everybody locks them
      select id
      from users
      where id in (select user_id from used)
      order by id
      for no key update
    ), person as (
      update users u
      set last_online = now()
      from held
      where u.id = held.id
      returning u.id
    )`;

/**
 * Use of sessions: the session slides on, the user was online, the org is the one last used, unless another was chosen
 * since.
 */
export async function noteSessions(sql: Sql, uses: readonly SessionUse[]): Promise<void> {
  await sql`
    with ${used(sql, uses)}, ${online(sql)}, session as (
      update sessions s
      set last_used_at = now(), expires_at = least(now() + ${LIFE}::interval, s.created_at + ${LONGEST_LIFE}::interval)
      from used
      join person on person.id = used.user_id
      where s.id = used.session_id
        and s.revoked_at is null
        and s.expires_at > now()
      returning s.id
    ), last as (
      select used.org_id, used.user_id, max(used.at) as at
      from used
      join person on person.id = used.user_id
      where (select count(*) from session) >= 0 -- before memberships, as by whoever makes something by a session
      group by used.org_id, used.user_id
    ), locked_memberships as materialized ( -- in the order in which everybody locks memberships
      select m.org_id, m.user_id, last.at
      from memberships m
      join last on last.org_id = m.org_id and last.user_id = m.user_id
      order by m.user_id, m.org_id
      for no key update of m
    )
    update memberships m
    set last_used_at = greatest(m.last_used_at, l.at)
    from locked_memberships l
    where m.org_id = l.org_id
      and m.user_id = l.user_id`;
}
