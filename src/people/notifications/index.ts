export { BROADCAST_CHANNELS, type Broadcast } from './broadcast.ts';
export { notificationsListener } from './listen.ts';
export type { LiveEvent } from './live-stream.ts';
export { openLive } from './live.ts';
export { rescheduleWindows } from './reschedule.ts';
export { type Notifications, openNotifications } from './service.ts';
export { type NotificationRow, notificationsRetention } from './store.ts';
