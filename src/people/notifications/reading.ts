import { isId, notFound } from '../../platform/kernel/index.ts';
import type { NotificationsDeps } from './deps.ts';
import type { Live } from './live.ts';
import * as store from './store.ts';

type Deps = Pick<NotificationsDeps, 'sql' | 'live'>;

export const countUnread = ({ sql }: Deps, reader: store.NotificationReader): Promise<number> =>
  store.countUnreadRows(sql, reader);

export const listNotifications = ({ sql }: Deps, reader: store.NotificationReader, options: store.ListOptions) =>
  store.findNotifications(sql, reader, options);

/** When it was read first. */
export async function readNotification(
  { sql, live }: Deps,
  reader: store.NotificationReader,
  id: string,
): Promise<Date> {
  const readAt = isId(id) ? await store.markNotificationRead(sql, reader, id) : undefined;
  if (!readAt) throw notFound();
  await live.announce([reader.userId]);
  return readAt;
}

export async function readAllNotifications({ sql, live }: Deps, reader: store.NotificationReader) {
  const read = await store.markNotificationsRead(sql, reader);
  await live.announce([reader.userId]);
  return read;
}

export async function removeNotification(
  { sql, live }: Deps,
  reader: store.NotificationReader,
  id: string,
): Promise<void> {
  if (!isId(id) || !(await store.deleteNotification(sql, reader, id))) throw notFound();
  await live.announce([reader.userId]);
}

/** Follows what somebody is told, while their session goes on; see `openLive`. */
export const followNotifications = ({ live }: Pick<NotificationsDeps, 'live'>, ...asked: Parameters<Live['follow']>) =>
  live.follow(...asked);

/** Forgets what is older than NOTIFICATIONS_RETENTION_DAYS, at most `limit`; answers how many (RT7). */
export const dropOldNotifications = (
  { sql, retentionDays }: Pick<NotificationsDeps, 'sql' | 'retentionDays'>,
  limit: number,
): Promise<number> => store.oldNotifications.drop(sql, retentionDays, limit);
