import { isId, notFound } from '../../platform/kernel/index.ts';
import type { NotificationsDeps } from './deps.ts';
import * as store from './store.ts';

type Deps = Pick<NotificationsDeps, 'sql'>;

export const countUnread = ({ sql }: Deps, reader: store.NotificationReader): Promise<number> =>
  store.countUnreadRows(sql, reader);

export const listNotifications = ({ sql }: Deps, reader: store.NotificationReader, options: store.ListOptions) =>
  store.findNotifications(sql, reader, options);

/** When it was read first. */
export async function readNotification({ sql }: Deps, reader: store.NotificationReader, id: string): Promise<Date> {
  const readAt = isId(id) ? await store.markNotificationRead(sql, reader, id) : undefined;
  if (!readAt) throw notFound();
  return readAt;
}

export const readAllNotifications = ({ sql }: Deps, reader: store.NotificationReader) =>
  store.markNotificationsRead(sql, reader);

export async function removeNotification({ sql }: Deps, reader: store.NotificationReader, id: string): Promise<void> {
  if (!isId(id) || !(await store.deleteNotification(sql, reader, id))) throw notFound();
}

/** Forgets what is older than NOTIFICATIONS_RETENTION_DAYS, at most `limit`; answers how many (RT7). */
export const dropOldNotifications = (
  { sql, retentionDays }: Pick<NotificationsDeps, 'sql' | 'retentionDays'>,
  limit: number,
): Promise<number> => store.deleteOldNotifications(sql, retentionDays, limit);
