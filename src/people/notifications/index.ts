export { BROADCAST_CHANNELS, type Broadcast } from './broadcast.ts';
export { notificationsListener } from './listen.ts';
export { type Notifications, openNotifications } from './service.ts';
export type { NotificationRow } from './store.ts';
