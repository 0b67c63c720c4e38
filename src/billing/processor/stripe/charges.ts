import type { Charge, Processor } from '../processor.ts';
import { idOf, type StripeDeps } from './deps.ts';

const MOST_CHARGES = 100;

/** Lists the latest charges of a customer that took money, with the invoices that they paid. */
export async function charges({ stripe, ask }: StripeDeps, customer: string): Promise<Charge[]> {
  const [taken, invoices] = await Promise.all([
    ask(undefined, () => stripe.charges.list({ customer, limit: MOST_CHARGES })),
    ask(undefined, () => stripe.invoices.list({ customer, limit: MOST_CHARGES, expand: ['data.payments'] })),
  ]);
  const byPayment = new Map(
    invoices.data.flatMap((invoice) =>
      (invoice.payments?.data ?? []).flatMap(({ payment }) =>
        idOf(payment.payment_intent ?? payment.charge).map((id) => [id, invoice]),
      ),
    ),
  );
  return taken.data
    .filter(({ status, captured }) => status === 'succeeded' && captured) // a card check holds and lets go: nothing was taken
    .map((one) => {
      const invoice = byPayment.get(idOf(one.payment_intent)[0] ?? one.id) ?? byPayment.get(one.id);
      return {
        id: one.id,
        amount: one.amount,
        currency: one.currency,
        created: one.created,
        status: one.status,
        refunded: one.refunded,
        amountRefunded: one.amount_refunded,
        disputed: one.disputed,
        credited: (invoice?.post_payment_credit_notes_amount ?? 0) > 0,
        description: one.description,
        receiptUrl: one.receipt_url,
        invoice: invoice?.id ?? null,
        invoicePdf: invoice?.invoice_pdf ?? null,
        subscription: idOf(invoice?.parent?.subscription_details?.subscription)[0] ?? null,
        paysFrom: invoice?.created ?? one.created,
      };
    });
}

/** Finds a charge; undefined when the processor does not know it. */
export async function charge({ stripe, ask, unless }: StripeDeps, id: string): ReturnType<Processor['charge']> {
  const found = await ask(undefined, () => stripe.charges.retrieve(id)).catch(unless('resource_missing'));
  return found && { customer: idOf(found.customer)[0] ?? null, created: found.created, refunded: found.refunded };
}

/** Gives a charge back, once; answers why the processor refuses that for good. */
export async function refund({ stripe, once, refusalOf }: StripeDeps, id: string): Promise<string | undefined> {
  try {
    await once(`refund:${id}`, (options) => stripe.refunds.create({ charge: id }, options));
    return undefined;
  } catch (error) {
    const words = refusalOf(error);
    if (words === undefined) throw error;
    return words;
  }
}
