import type { Email } from '../delivery/email/index.ts';
import { addonsOf, type Billing } from '../entitlements/index.ts';
import { permissionsOf, SYSTEM_ROLES } from '../people/access/index.ts';
import { openAuthTokens } from '../people/auth/index.ts';
import type { Notifications } from '../people/notifications/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock, Vault } from '../platform/kernel/index.ts';
import type { Events, Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import { openPayments, type Payments, paymentsOff, type Queue } from './payments/index.ts';
import { openStripe } from './processor/index.ts';
import { eventStore } from './subscriptions/index.ts';

export interface BillingNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  vault: Vault;
  logs: Logs;
  events: Events;
  email: Email;
  notifications: Pick<Notifications, 'tellHolders'>;
  billing: Billing;
  queue: Queue;
  /** Address of a payment processor in place of the real one. */
  paymentsServer?: string | undefined;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what organizations pay. */
export async function openBillingWing(needs: BillingNeeds) {
  await using opened = new AsyncDisposableStack();
  const payments = opened.use(await openPaymentsOf(needs));
  return wing(opened, {
    rooms: { payments },
    sweeps: [
      { name: 'payments', everyMs: MINUTE, run: (limit) => payments.sweep(limit) },
      { name: 'payment-events', everyMs: HOUR, run: (limit) => eventStore.dropOldEvents(needs.sql, limit) },
    ],
  });
}

/** The payments by the processor of the configuration; without its keys nothing is paid. */
async function openPaymentsOf({ config, logs, paymentsServer: server, ...needs }: BillingNeeds): Promise<Payments> {
  const { publishableKey, secretKey, signingKey, ...settings } = config.payments;
  const addons = addonsOf(config.addons);
  if (publishableKey === undefined) return paymentsOff({ addons });
  const log = logs.of('billing');
  const tokens = openAuthTokens({ secret: config.secrets.jwt, clock: needs.clock, log });
  return openPayments({
    ...needs,
    log,
    addons,
    settings,
    processor: await openStripe({ secretKey, signingKey, serviceName: settings.serviceName, server }),
    codes: { sign: tokens.signLifetime, read: tokens.verifyLifetime },
    frontendUrl: config.http.frontendUrl,
    payingRoles: SYSTEM_ROLES.filter((role) => permissionsOf(role, false).has('billing:manage')),
  });
}
