import { openBillingWing } from '../../../src/billing/open.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import { openVault, systemClock } from '../../../src/platform/kernel/index.ts';
import { openEvents, openMetrics } from '../../../src/platform/telemetry/index.ts';
import { pauseQueue } from '../../../src/publishing/channels/index.ts';
import { resumeOrgPosts } from '../../../src/publishing/open.ts';
import { startPaymentProcessor } from '../peers/payment-processor.ts';
import { testDatabase } from '../wire/database.ts';
import { WITH_BILLING } from './billing.ts';
import { openNetwork, startPublisher } from './publishing/world.ts';
import { quietLog } from './quiet-log.ts';
import { JWT_SECRET } from './secret.ts';

/** Payments over a database and a processor of their own, without the API: for tests with thousands of events. */
export async function openPayments() {
  await using opened = new AsyncDisposableStack();
  const db = opened.use(await testDatabase());
  const processor = opened.use(await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY }));
  const world = opened.use(await startPublisher({ url: db.url, network: openNetwork(), env: WITH_BILLING }));
  const { config } = readConfig({ JWT_SECRET, ...WITH_BILLING });
  const { rooms } = await openBillingWing({
    config,
    sql: db.sql,
    clock: systemClock,
    vault: openVault(config.secrets.encryptionKey),
    email: { enabled: false, queue: async () => undefined, queueAll: async () => undefined },
    notifications: { tellHolders: async () => undefined },
    billing: world.billing,
    events: openEvents(quietLog(), openMetrics({ processMetrics: false })),
    logs: { of: quietLog },
    queue: { pauseQueue, resumeQueue: resumeOrgPosts },
    paymentsServer: processor.url,
  });
  opened.use(rooms.payments);
  const end = opened.move();
  return { db, processor, world, payments: rooms.payments, [Symbol.asyncDispose]: () => end.disposeAsync() };
}
export type OpenPayments = Awaited<ReturnType<typeof openPayments>>;
