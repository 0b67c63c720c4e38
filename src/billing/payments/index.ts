export type { Codes } from './lifetime.ts';
export { paymentsOff } from './payments-off.ts';
export { openPayments, type Payments, type PaymentsOptions } from './payments.ts';
export type { Queue } from './ports.ts';
