export {
  CardRefused,
  type SubscriptionChange,
  type Charge,
  isAway,
  isOfPeriod,
  type Offer,
  type Processor,
  type RemoteEvent,
  RemoteInvoice,
  RemoteSubscription,
  wasCutShort,
} from './processor.ts';
export { openStripe } from './stripe/index.ts';
export {
  addTask,
  credits,
  deferCredit,
  endRefund,
  endTask,
  failTask,
  type PaidFor,
  takeTasks,
  type TaskRow,
  waitingRefunds,
} from './task-store.ts';
