import type { Billing } from '../entitlements/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock, Vault } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Events, Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { EmailAdapter, Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import { openEmail, openOverride, type MailTransport, siteOf } from './email/index.ts';
import { neighboursListener } from './neighbours/index.ts';
import { openPush } from './push/index.ts';
import { openWebhooks, webhooksListener } from './webhooks/index.ts';

export interface DeliveryNeeds {
  config: Config;
  incarnation: string;
  sql: Database;
  clock: Clock;
  vault: Vault;
  outbound: Outbound;
  logs: Logs;
  events: Events;
  billing: Billing;
  providers: Providers;
  providerSettings: ProviderSettings;
}

const HOUR = 3_600_000;

/** Opens what carries messages to people and to other services: mail, pushes, webhooks, events for neighbours. */
export async function openDeliveryWing({
  config,
  incarnation,
  sql,
  clock,
  vault,
  outbound,
  logs,
  events,
  billing,
  providers,
  providerSettings,
}: DeliveryNeeds) {
  await using opened = new AsyncDisposableStack();
  const transport = openMailTransport(config, providers);
  opened.defer(() => transport?.mailer.close());
  const override = opened.use(
    openOverride({
      read: () => mailSettingsOf(config, providerSettings),
      open: ({ adapter, values }) => mailTransportOf(providers, adapter, providers.fields(adapter, values)),
    }),
  );
  const email = openEmail({
    sql,
    clock,
    vault,
    transport,
    override: override.current,
    site: siteOf(config),
    log: logs.of('email'),
    events,
    retentionDays: config.retention.emailLog,
  });
  const webhooks = openWebhooks({
    sql,
    clock,
    vault,
    outbound,
    billing,
    incarnation,
    signingKey: config.secrets.webhookSigning,
    timeoutMs: config.outbound.webhookTimeoutMs,
    unsignedTimeoutMs: config.outbound.timeoutMs,
    log: logs.of('webhooks'),
    events,
  });
  const push = openPush({ sql, clock, outbound, ...config.push, log: logs.of('push'), events });
  return wing(opened, {
    rooms: { email, push, webhooks },
    sweeps: [
      { name: 'emails', everyMs: HOUR, run: (limit) => email.dropOld(limit) },
      { name: 'pushes', everyMs: HOUR, run: (limit) => push.dropOld(limit) },
      { name: 'webhook-deliveries', everyMs: HOUR, run: (limit) => webhooks.dropOld(limit) },
    ],
    listeners: [
      webhooksListener,
      neighboursListener({ ...config.actors.dapr, pubsub: config.actors.dapr.eventsPubsub, clock }),
    ],
    workers: [() => email.startSender(), () => push.startSender()],
  });
}

/** The mail provider that the settings choose, if it can send. */
function openMailTransport({ email: { provider } }: Config, providers: Providers): MailTransport | undefined {
  const adapter = providers.resolve('email', provider?.id ?? 'empty');
  return mailTransportOf(providers, adapter, provider ? providers.fields(adapter, provider.values) : {});
}
function mailTransportOf(
  providers: Providers,
  adapter: EmailAdapter,
  values: Readonly<Record<string, string>>,
): MailTransport | undefined {
  const mailer = providers.mailer(adapter, values);
  return (
    mailer && {
      providerId: adapter.id,
      providerVersion: adapter.version,
      mailer,
      reports: providers.mailReports(adapter, values),
    }
  );
}
/**
 * The values that operators keep in the database for that provider; the key that proves its events may stay in the
 * environment.
 */
async function mailSettingsOf({ email: { provider } }: Config, settings: ProviderSettings) {
  const kept = provider && (await settings.configured(null, 'email')).get(provider.id);
  const key = kept?.adapter.events?.key;
  const proof = key === undefined ? undefined : provider?.values[key];
  return kept && { adapter: kept.adapter, values: { ...(proof !== undefined && { [key!]: proof }), ...kept.values } };
}
