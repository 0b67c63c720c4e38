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

export const presentNotifications = ({
  rows,
  total,
  lastRead,
  page,
  limit,
}: {
  rows: readonly NotificationRow[];
  total: number;
  lastRead: Date;
  page: number;
  limit: number;
}): z.input<typeof NotificationsPage> => ({
  lastReadNotifications: lastRead.toISOString(),
  notifications: rows.map(presentNotification),
  total,
  page,
  limit,
  hasMore: page * limit + rows.length < total,
});
