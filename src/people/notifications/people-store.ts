import type { Sql } from '../../platform/db/index.ts';
import { isUndeliverable } from '../../delivery/email/index.ts';
import { holdersOf, type Permission } from '../access/index.ts';
import type { PreferencesChange } from '../identity/index.ts';

/** A member who may be told something. */
export interface PersonRow {
  orgId: string;
  orgName: string;
  userId: string;
  email: string;
  name: string;
  timezone: string;
  chosen: PreferencesChange;
  roleKey: string;
  granted: readonly Permission[] | null;
  /** Mail to them came back for good, or they complained. */
  isUndeliverable: boolean;
  now: Date;
}
/** Members by id, and those whose role holds a permission; `owner`: every owner. */
export interface Wanted {
  members: readonly { orgId: string; userId: string }[];
  holders: readonly { orgId: string; permission: Permission | 'owner' }[];
}

const holding = (permission: Permission | 'owner'): ReturnType<typeof holdersOf> =>
  permission === 'owner' ? { roles: ['owner'], grants: [] } : holdersOf(permission);

const person = (sql: Sql) => sql`
    m.org_id as "orgId", m.user_id as "userId", u.email, p.name, p.timezone, p.notification_preferences as chosen,
    m.role_key as "roleKey", r.permissions as granted, ${isUndeliverable(sql, sql`u.email`)} as "isUndeliverable",
    o.name as "orgName", now() as now`;

/** Members who are neither disabled nor gone, with what they want to hear; in one statement, of any organizations. */
export const findPeople = (sql: Sql, { members, holders }: Wanted) => sql<PersonRow[]>`/* all orgs */
  with members as (
    select *
    from unnest(${members.map(({ orgId }) => orgId)}::uuid[], ${members.map(({ userId }) => userId)}::uuid[])
      as t (org_id, user_id)
  ), holders as (
    select *
    from json_to_recordset(${JSON.stringify(
      holders.map(({ orgId, permission }) => ({ org_id: orgId, ...holding(permission) })),
    )}::text::json) as t (org_id uuid, roles text[], grants text[])
  ), found as (
    select m.org_id, m.user_id
    from members w
    join memberships m on m.org_id = w.org_id and m.user_id = w.user_id
    union
    select m.org_id, m.user_id
    from holders h
    join memberships m on m.org_id = h.org_id
    left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
    where m.role_key = any(h.roles)
      or r.permissions && h.grants
  )
  select ${person(sql)}
  from found f
  join memberships m on m.org_id = f.org_id and m.user_id = f.user_id and not m.disabled
  join organizations o on o.id = m.org_id and o.deleted_at is null and o.disabled_at is null
  join users u on u.id = m.user_id and u.activated and u.deleted_at is null
  join user_profiles p on p.user_id = u.id
  left join roles r on r.org_id = m.org_id and r.id::text = m.role_key`;

/** The members of an organization that a broadcast names; `roles` and `userIds` absent: all. */
export const findTargets = (
  sql: Sql,
  orgId: string,
  { roles, userIds }: { roles?: readonly string[] | undefined; userIds?: readonly string[] | undefined },
) => sql<PersonRow[]>`
  select ${person(sql)}
  from memberships m
  join organizations o on o.id = m.org_id and o.deleted_at is null and o.disabled_at is null
  join users u on u.id = m.user_id and u.activated and u.deleted_at is null
  join user_profiles p on p.user_id = u.id
  left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
  where m.org_id = ${orgId}
    and not m.disabled
    ${roles ? sql`and m.role_key = any(${[...roles]}::text[])` : sql``}
    ${userIds ? sql`and m.user_id = any(${[...userIds]}::uuid[])` : sql``}`;
