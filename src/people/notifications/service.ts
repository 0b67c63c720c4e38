import { bind } from '../../platform/kernel/index.ts';
import { broadcast } from './broadcast.ts';
import { closeDueWindows } from './close.ts';
import type { NotificationsDeps } from './deps.ts';
import { tellHolders } from './tell.ts';
import {
  countUnread,
  dropOldNotifications,
  followNotifications,
  listNotifications,
  readAllNotifications,
  readNotification,
  removeNotification,
} from './reading.ts';
import { checkUnsubscribe, unsubscribe } from './unsubscribe.ts';

/** What people are told: in the application, by mail and by push. */
export const openNotifications = (deps: NotificationsDeps) =>
  bind(deps, {
    broadcast,
    checkUnsubscribe,
    closeDueWindows,
    countUnread,
    dropOldNotifications,
    followNotifications,
    listNotifications,
    readAllNotifications,
    readNotification,
    removeNotification,
    tellHolders,
    unsubscribe,
  });
export type Notifications = ReturnType<typeof openNotifications>;
