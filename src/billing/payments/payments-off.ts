import { AppError } from '../../platform/kernel/index.ts';
import type { Payments, PaymentsOptions } from './payments.ts';

const refuse = () => Promise.reject(new AppError('billing_disabled', 'Billing is off on this instance'));

/**
 * Without PAYMENTS_PUBLISHABLE_KEY nothing is paid: what would change something is refused, the rest is empty (S75).
 */
export const paymentsOff = ({ addons }: Pick<PaymentsOptions, 'addons'>): Payments => ({
  addons,
  subscription: async () => undefined,
  customer: async () => undefined,
  subscribe: refuse,
  prorate: refuse,
  check: async () => 0,
  listAddons: async () => [],
  setAddon: refuse,
  removeAddon: refuse,
  charges: async () => [],
  refundCharges: refuse,
  portal: refuse,
  cancel: refuse,
  cancelNow: refuse,
  finishTrial: refuse,
  isTrialFinished: async () => true,
  offerDiscount: async () => false,
  applyDiscount: refuse,
  redeem: refuse,
  mintCodes: refuse,
  grant: refuse,
  endAll: async () => undefined,
  receive: refuse,
  runTransitions: async () => undefined,
  nextTransition: async () => null,
  sweep: async () => 0,
  [Symbol.asyncDispose]: async () => undefined,
});
