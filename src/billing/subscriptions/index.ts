export { openDunning } from './dunning.ts';
export * as checkoutStore from './checkout-store.ts';
export * as eventStore from './event-store.ts';
export * as subscriptionStore from './subscription-store.ts';
export { openNotices } from './notices.ts';
export { openApply, PROCESSOR, type Apply, type ApplyOutcome, type ApplyNeeds } from './apply.ts';
export {
  changeFor,
  isOver,
  isTier,
  moveTo,
  packOffer,
  type Paid,
  type Period,
  PERIODS,
  planMetadata,
  planOffer,
  reachOf,
  readInvoice,
  readSubscription,
  REFUND_DAYS,
  TRIAL_DAYS,
  wasCredited,
} from './subscription-rules.ts';
export {
  claimSelfRefund,
  emailOf,
  findCustomer,
  findKnown,
  findSubscription,
  keepCustomer,
  nameOf,
  returnSelfRefund,
  runningOf,
  type SubscriptionRow,
} from './subscription-store.ts';
