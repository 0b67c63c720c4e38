import { type Json, retentionRule, oldRows, type Sql } from '../../platform/db/index.ts';

export interface NotificationRow {
  id: string;
  title: string;
  content: string;
  link: string | null;
  category: string;
  data: Readonly<Record<string, Json>>;
  readAt: Date | null;
  createdAt: Date;
}
export interface NewNotification {
  id: string;
  orgId: string;
  userId: string;
  source: string;
  category: string;
  title: string;
  content: string;
  link: string | null;
  data: Readonly<Record<string, Json>>;
}
/** A member, in one organization. */
export interface NotificationReader {
  orgId: string;
  userId: string;
}

/** Writes rows that are not there yet, of any organizations. */
export const insertNotifications = (sql: Sql, rows: readonly NewNotification[]) => sql`/* all orgs */
  insert into notifications (id, org_id, user_id, source, category, title, content, link, data)
  select *
  from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ orgId }) => orgId)}::uuid[],
    ${rows.map(({ userId }) => userId)}::uuid[], ${rows.map(({ source }) => source)}::text[],
    ${rows.map(({ category }) => category)}::text[], ${rows.map(({ title }) => title)}::text[],
    ${rows.map(({ content }) => content)}::text[], ${rows.map(({ link }) => link)}::text[],
    ${rows.map(({ data }) => JSON.stringify(data))}::text[]::jsonb[])
  on conflict (user_id, source) do nothing`;

const ofReader = (sql: Sql, { orgId, userId }: NotificationReader) => sql`org_id = ${orgId} and user_id = ${userId}`;

export async function countUnreadRows(sql: Sql, reader: NotificationReader): Promise<number> {
  const [row] = await sql<{ total: number }[]>`
    select count(*)::int as total
    from notifications
    where ${ofReader(sql, reader)}
      and read_at is null`;
  return row!.total;
}

export interface ListOptions {
  page: number;
  limit: number;
  category?: string | undefined;
  unread?: boolean | undefined;
}
interface Listed {
  rows: readonly NotificationRow[];
  total: number;
  lastRead: Date;
}

/** A page of what somebody was told in an organization, newest first. */
export async function findNotifications(
  sql: Sql,
  reader: NotificationReader,
  { page, limit, category, unread = false }: ListOptions,
): Promise<Listed> {
  const wanted = sql`
    ${ofReader(sql, reader)}
      ${category === undefined ? sql`` : sql`and category = ${category}`}
      ${unread ? sql`and read_at is null` : sql``}`;
  const rows = await sql<(NotificationRow & { total: number; lastRead: Date })[]>`
    select n.id, n.title, n.content, n.link, n.category, n.data, n."readAt", n."createdAt", (select count(*)::int from notifications where ${wanted}) as total,
      u.last_read_notifications as "lastRead"
    from users u
    left join lateral (
      select id, title, content, link, category, data, read_at as "readAt", created_at as "createdAt", seq
      from notifications
      where ${wanted}
      order by seq desc
      limit ${limit}
      offset ${page * limit}
    ) n on true
    where u.id = ${reader.userId}
    order by n.seq desc`;
  const [first] = rows;
  return {
    rows: rows.filter(({ id }: { id: string | null }) => id !== null),
    total: first?.total ?? 0,
    lastRead: first?.lastRead ?? new Date(0),
  };
}

/** Marks one read; the first time counts. Undefined: it is not theirs. */
export async function markNotificationRead(
  sql: Sql,
  reader: NotificationReader,
  id: string,
): Promise<Date | undefined> {
  const [row] = await sql<{ readAt: Date }[]>`
    update notifications
    set read_at = coalesce(read_at, now())
    where ${ofReader(sql, reader)}
      and id = ${id}
    returning read_at as "readAt"`;
  return row?.readAt;
}

export async function markNotificationsRead(
  sql: Sql,
  reader: NotificationReader,
): Promise<{ updated: number; lastRead: Date }> {
  const [row] = await sql<{ updated: number; lastRead: Date }[]>`
    with updated as (
      update notifications
      set read_at = now()
      where ${ofReader(sql, reader)}
        and read_at is null
      returning id
    )
    update users
    set last_read_notifications = now()
    where id = ${reader.userId}
    returning (select count(*)::int from updated) as updated, last_read_notifications as "lastRead"`;
  return row!;
}

export async function deleteNotification(sql: Sql, reader: NotificationReader, id: string): Promise<boolean> {
  const { count } = await sql`delete from notifications where ${ofReader(sql, reader)} and id = ${id}`;
  return count > 0;
}

export const oldNotifications = oldRows('notifications', 'created_at');
export const notificationsRetention = retentionRule(
  'NOTIFICATIONS_RETENTION_DAYS', // RT7
  ['notifications'],
  oldNotifications.due,
);
