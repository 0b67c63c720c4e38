import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import { type Processor, type RemoteEvent, RemoteInvoice, RemoteSubscription } from '../processor/index.ts';
import type { Apply, ApplyOutcome } from '../subscriptions/index.ts';
import { type Paid, reachOf, readInvoice, readSubscription } from '../subscriptions/index.ts';
import { eventStore, subscriptionStore as store } from '../subscriptions/index.ts';
import { addTask } from '../processor/index.ts';

export interface EventsNeeds {
  sql: Database;
  processor: Processor;
  apply: Apply;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  serviceName: string;
  events: PaymentEvents;
  /** Told after the commit that tasks may wait. */
  afterwards(orgId: string): void;
}
export interface PaymentEvents {
  paymentHeard(of: { id: string; type: string; orgId: string | null; outcome: string }): void;
}
/** The outcome of a delivery; `orgId` where it was applied to one. */
export type ReceivedEvent = { ok: true; ignored?: true; orgId?: string };
/** Reasons why an event is not applied before its subscription is looked at, or after (`outdated`, `ended`). */
type EventOutcome =
  | ApplyOutcome
  | 'unknown_type'
  | 'other_service'
  | 'unknown_product'
  | 'unknown_customer'
  | 'not_an_invoice'
  | 'no_subscription'
  | 'subscription_not_begun'
  | 'ended'
  | 'outdated';
const IGNORED: ReceivedEvent = { ok: true, ignored: true };

const SUBSCRIPTION_EVENTS = new Set([
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
]);
const INVOICE_EVENTS = new Set(['invoice.payment_succeeded', 'invoice.payment_failed']);

/** The content of an event and its subscription. */
type Said = { subscription: string; orgId: string } & (
  | { paid: Paid; cardRefused: boolean }
  | { unreadable: true }
  | { invoice: RemoteInvoice }
);

/** Events of the processor: verified, each applied once, in an order that makes sense (BI48 to BI55, S77, S78). */
export function openPaymentEvents({ sql, processor, apply, lockOrg, serviceName, events, afterwards }: EventsNeeds) {
  async function ofSubscription(event: RemoteEvent): Promise<Said | EventOutcome> {
    const object = event.data.object;
    if (object.metadata?.['service'] !== serviceName) return 'other_service';
    const remote = RemoteSubscription.safeParse(object);
    const read = remote.success ? readSubscription(remote.data) : undefined;
    if (!remote.success) return 'unknown_product';
    const known = await store.findKnown(sql, remote.data.id);
    if (!read) return known ? { subscription: known.id, orgId: known.orgId, unreadable: true } : 'unknown_product';
    const paid: Paid = event.type === 'customer.subscription.deleted' ? { ...read, state: 'over' } : read;
    const orgId = known?.orgId ?? (await store.orgOf(sql, paid.customer, paid.identifier));
    if (orgId === undefined) return 'unknown_customer';
    return { subscription: paid.id, orgId, paid, cardRefused: !(await cardHolds(remote.data, paid, orgId)) };
  }

  /**
   * Before a trial begins the card is tried; the key of that call is the subscription's, so that a repeated delivery
   * tries nothing again (BI54).
   */
  async function cardHolds(remote: RemoteSubscription, paid: Paid, orgId: string): Promise<boolean> {
    if (!paid.inTrial || paid.state !== 'live' || paid.item.kind !== 'plan') return true;
    const row = await store.findSubscription(sql, orgId);
    return row?.processorId === paid.id || processor.checkCard(remote);
  }

  /** An invoice has no metadata of ours: its subscription says whose it is (BI50). */
  async function ofInvoice(event: RemoteEvent): Promise<Said | EventOutcome> {
    const { success, data: invoice } = RemoteInvoice.safeParse(event.data.object);
    if (!success) return 'not_an_invoice';
    const details = invoice.parent?.subscription_details ?? invoice.subscription_details;
    const subscription = details?.subscription ?? invoice.subscription;
    if (!subscription) return 'no_subscription';
    const known = await store.findKnown(sql, subscription);
    if (known) return { subscription, orgId: known.orgId, invoice };
    const remote =
      details?.metadata?.['service'] === undefined ? await processor.subscription(subscription) : undefined;
    const metadata = remote?.metadata ?? details?.metadata;
    if (metadata?.['service'] !== serviceName) return 'other_service';
    const orgId = remote && (await store.orgOf(sql, remote.customer, metadata['uniqueId'] ?? null));
    return orgId === undefined ? 'subscription_not_begun' : { subscription, orgId, invoice };
  }

  async function applyEvent(tx: Sql, event: RemoteEvent, said: Said, eventAt: Date): Promise<EventOutcome> {
    const { orgId, subscription } = said;
    await lockOrg(tx, orgId);
    const reach = reachOf(eventAt, await store.findKnown(tx, subscription));
    if (reach === 'ended') return 'ended';
    // of ours, with metadata that name nothing: whether it goes on at all is asked
    if (reach !== 'apply' || 'unreadable' in said) await addTask(tx, orgId, { kind: 'sync', subscription });
    if (reach === 'ask') return 'outdated';
    if ('unreadable' in said) return 'unknown_product';
    if ('paid' in said)
      return said.cardRefused
        ? apply.refuseCard(tx, orgId, said.paid, eventAt)
        : apply.state(tx, orgId, said.paid, { eventAt });
    await store.noteEvent(tx, orgId, subscription, eventAt);
    return event.type === 'invoice.payment_failed'
      ? apply.invoiceFailed(tx, orgId, subscription)
      : apply.invoicePaid(tx, orgId, subscription, readInvoice(said.invoice));
  }

  return async (body: Uint8Array, signature: string): Promise<ReceivedEvent> => {
    const event = processor.verify(body, signature);
    if (!event)
      throw new AppError('invalid_request', 'The signature does not fit the body or is too old, or this is no event');
    if (await eventStore.eventKnown(sql, event.id)) return IGNORED;
    const said = SUBSCRIPTION_EVENTS.has(event.type)
      ? await ofSubscription(event)
      : INVOICE_EVENTS.has(event.type)
        ? await ofInvoice(event)
        : 'unknown_type';
    const eventAt = new Date(event.created * 1000);
    const row = { id: event.id, type: event.type, createdAt: eventAt };
    if (typeof said === 'string') {
      if (await eventStore.insertEvent(sql, { ...row, orgId: null, subscriptionId: null, outcome: said }))
        events.paymentHeard({ ...row, orgId: null, outcome: said });
      return IGNORED;
    }
    const { orgId, subscription } = said;
    const outcome = await sql.begin(async (tx) => {
      if (!(await eventStore.insertEvent(tx, { ...row, orgId, subscriptionId: subscription, outcome: '' })))
        return undefined;
      const word = await applyEvent(tx, event, said, eventAt);
      await eventStore.saveOutcome(tx, orgId, event.id, word);
      return word;
    });
    if (outcome === undefined) return IGNORED;
    events.paymentHeard({ ...row, orgId, outcome });
    afterwards(orgId);
    return { ok: true, orgId };
  };
}
