import type { Fragment, Sql } from '../../platform/db/index.ts';
import { isUndeliverable } from '../../delivery/email/index.ts';
import type { PreferencesChange } from '../identity/index.ts';

/** A window of a person; its kind says what it collects. */
export interface WindowKey {
  userId: string;
  kind: string;
}
export interface WindowLine extends WindowKey {
  orgId: string;
  category: string;
  title: string;
  content: string;
  link: string | null;
}

/**
 * Opens windows that are not open, and answers which it opened and when each ends; all of them stay open until the
 * commit. They are locked in order of person and kind, digests first.
 */
export const openWindows = (sql: Sql, windows: readonly (WindowKey & { dueAt: number })[]) => sql<
  (WindowKey & { isNew: boolean; dueAt: Date })[]
>`/* all orgs */
  insert into notification_windows as w (user_id, kind, due_at)
  select *
  from unnest(${windows.map(({ userId }) => userId)}::uuid[], ${windows.map(({ kind }) => kind)}::text[],
    ${windows.map(({ dueAt }) => new Date(dueAt).toISOString())}::timestamptz[]) as t (user_id, kind, due_at)
  order by user_id, kind <> 'digest', kind
  on conflict (user_id, kind) do update
    set due_at = least(w.due_at, excluded.due_at)
  returning user_id as "userId", kind, due_at as "dueAt", xmax = 0 as "isNew"`;

/** What the ends of the windows of a person follow from. */
interface Wishes {
  chosen: PreferencesChange;
  timezone: string;
  now: Date;
}
export async function wishesOf(sql: Sql, userId: string): Promise<Wishes | undefined> {
  const [row] = await sql<Wishes[]>`
    select notification_preferences as chosen, timezone, now() as now
    from user_profiles
    where user_id = ${userId}`;
  return row;
}
/** The open windows of a person, locked in the order in which everybody does. */
export const lockWindowsOf = (sql: Sql, userId: string) => sql<{ kind: string }[]>`/* all orgs */
  select kind
  from notification_windows
  where user_id = ${userId}
  order by kind <> 'digest', kind
  for update`;

/** Ends windows of a person earlier, where they end later than that. */
export const endWindowsEarlier = (
  sql: Sql,
  userId: string,
  windows: readonly { kind: string; dueAt: number }[],
) => sql`/* all orgs */
  update notification_windows w
  set due_at = t.due_at
  from unnest(${windows.map(({ kind }) => kind)}::text[],
    ${windows.map(({ dueAt }) => new Date(dueAt).toISOString())}::timestamptz[]) as t (kind, due_at)
  where w.user_id = ${userId}
    and w.kind = t.kind
    and w.due_at > t.due_at`;

export const insertLines = (sql: Sql, lines: readonly WindowLine[]) => sql`/* all orgs */
  insert into notification_lines (user_id, kind, org_id, category, title, content, link)
  select *
  from unnest(${lines.map(({ userId }) => userId)}::uuid[],
    ${lines.map(({ kind }) => kind)}::text[], ${lines.map(({ orgId }) => orgId)}::uuid[],
    ${lines.map(({ category }) => category)}::text[], ${lines.map(({ title }) => title)}::text[],
    ${lines.map(({ content }) => content)}::text[], ${lines.map(({ link }) => link)}::text[])`;

/** A line of a closed window, and how many there are of its organization and category, of which some are at hand. */
export interface ClosedLine {
  seq: number;
  category: string;
  title: string;
  content: string;
  link: string | null;
  count: number;
}
/** What a closed window collected of one organization: of each category the first lines. */
export interface ClosedPart extends WindowKey {
  orgId: string;
  orgName: string;
  email: string;
  name: string;
  chosen: PreferencesChange;
  isUndeliverable: boolean;
  lines: readonly ClosedLine[];
}

/**
 * Closes at most `limit` windows that are due, in the caller's transaction, and answers the first 50 lines of each
 * organization and category, of people who still belong there. Windows that another process closes, or that a notice is
 * being added to, are left. What quiet hours held is closed with a digest that waited for their end, which is one mail.
 * `only`: this window alone.
 */
export async function closeWindows(
  sql: Sql,
  limit: number,
  only?: WindowKey,
): Promise<{ closed: number; parts: ClosedPart[] }> {
  const due = await lockDueWindows(sql, limit, only);
  const closed = due.filter(({ isJoined }) => !isJoined).length;
  return { closed, parts: due.length > 0 ? await deleteWindows(sql, due) : [] };
}

/** Windows that are due, beside those without which they are asked for. */
export const findDueWindows = (sql: Sql, limit: number, without: readonly WindowKey[]) => sql<
  WindowKey[]
>`/* all orgs */
  select user_id as "userId", kind
  from notification_windows
  where due_at <= now()
    and (user_id, kind) not in (
      select *
      from unnest(${without.map(({ userId }) => userId)}::uuid[], ${without.map(({ kind }) => kind)}::text[])
    )
  order by due_at
  limit ${limit}`;

/**
 * A statement of its own: the one that deletes must see every line of a window. It would not see one whose commit comes
 * after it began and before it locks the window, and the window takes its lines with it. Of what joins a digest it waits
 * for none: whoever adds a notice holds windows of several people.
 */
const lockDueWindows = (sql: Sql, limit: number, only: WindowKey | undefined) => sql<
  (WindowKey & { isJoined: boolean })[]
>`/* all orgs */
  with due as (
    select user_id, kind
    from notification_windows
    where due_at <= now()
      and ${only ? sql`user_id = ${only.userId} and kind = ${only.kind}` : sql`not ${joinsDigest(sql)}`}
    order by due_at
    limit ${limit}
    for update
    skip locked
  ), joined as (
    select w.user_id, w.kind
    from due d
    join notification_windows w on w.user_id = d.user_id and w.kind = 'quiet' and w.due_at <= now()
    where d.kind = 'digest'
      and ${only === undefined}
    for update of w
    skip locked
  )
  select user_id as "userId", kind, false as "isJoined"
  from due
  union all
  select user_id, kind, true
  from joined`;

/** The window of quiet hours `notification_windows` is closed by whoever closes the digest of the same person. */
const joinsDigest = (sql: Sql): Fragment => sql`(
      kind = 'quiet'
      and exists (
        select
        from notification_windows d
        where d.user_id = notification_windows.user_id
          and d.kind = 'digest'
          and d.due_at <= now()
      )
    )`;

const deleteWindows = (sql: Sql, windows: readonly WindowKey[]) => sql<ClosedPart[]>`/* all orgs */
  with due as (
    select *
    from unnest(${windows.map(({ userId }) => userId)}::uuid[], ${windows.map(({ kind }) => kind)}::text[])
      as t (user_id, kind)
  ), lines as (
    delete from notification_lines l
    using due d
    where l.user_id = d.user_id
      and l.kind = d.kind
    returning l.*
  ), closed as (
    delete from notification_windows w
    using due d
    where w.user_id = d.user_id
      and w.kind = d.kind
  ), numbered as (
    select *, row_number() over same as n, count(*) over (partition by user_id, kind, org_id, category) as count
    from lines
    window same as (partition by user_id, kind, org_id, category order by seq)
  ), parts as ( -- a row for each, as what stands beside the lines costs more than they do
    select user_id, kind, org_id, json_agg(json_build_object('seq', seq, 'category', category, 'title', title,
        'content', content, 'link', link, 'count', count)) as lines
    from numbered
    where n <= 50
    group by user_id, kind, org_id
  )
  select l.user_id as "userId", l.kind, l.org_id as "orgId", l.lines, o.name as "orgName", u.email, p.name,
    p.notification_preferences as chosen, ${isUndeliverable(sql, sql`u.email`)} as "isUndeliverable"
  from parts l
  join memberships m on m.org_id = l.org_id and m.user_id = l.user_id and not m.disabled
  join organizations o on o.id = l.org_id and o.deleted_at is null and o.disabled_at is null
  join users u on u.id = l.user_id and u.activated and u.deleted_at is null
  join user_profiles p on p.user_id = u.id`;
