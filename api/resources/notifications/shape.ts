import { z } from 'zod';
import type { NotificationRow } from '../../../src/people/notifications/index.ts';
import { instant } from '../../http/fields.ts';

export const Notification = z.strictObject({
  id: z.string(),
  title: z.string(),
  content: z.string(),
  link: z.string().nullable(),
  category: z.string(),
  data: z.record(z.string(), z.unknown()),
  readAt: instant.nullable(),
  createdAt: instant,
});

/** One notification as its reader sees it (S175). */
export const presentNotification = (row: NotificationRow): z.input<typeof Notification> => ({
  id: row.id,
  title: row.title,
  content: row.content,
  link: row.link,
  category: row.category,
  data: row.data,
  readAt: row.readAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
});

export const NotificationsPage = z.strictObject({
  lastReadNotifications: instant,
  notifications: z.array(Notification),
  total: z.int(),
  page: z.int(),
  limit: z.int(),
  hasMore: z.boolean(),
});

/** A page of the notifications of one person. */
interface NotificationsRead {
  rows: readonly NotificationRow[];
  total: number;
  lastRead: Date;
  page: number;
  limit: number;
}
const pageOfNotifications = ({ rows, total, page, limit }: NotificationsRead) => ({
  total,
  page,
  limit,
  hasMore: page * limit + rows.length < total,
});

export const presentNotifications = (read: NotificationsRead): z.input<typeof NotificationsPage> => ({
  lastReadNotifications: read.lastRead.toISOString(),
  notifications: read.rows.map(presentNotification),
  ...pageOfNotifications(read),
});

const PublicNotification = Notification.pick({ id: true, content: true, link: true, createdAt: true });
/** The page that clients in the field know (3.1): these keys and no others. */
export const PublicNotificationsPage = NotificationsPage.omit({ lastReadNotifications: true }).extend({
  notifications: z.array(PublicNotification),
});

export const presentPublicNotifications = (read: NotificationsRead): z.input<typeof PublicNotificationsPage> => ({
  notifications: read.rows.map(({ id, content, link, createdAt }) => ({
    id,
    content,
    link,
    createdAt: createdAt.toISOString(),
  })),
  ...pageOfNotifications(read),
});
