import { type Charge, isOfPeriod, type RemoteSubscription } from '../processor.ts';
import { charges } from './charges.ts';
import type { StripeDeps } from './deps.ts';

const wentBack = ({ amountRefunded, disputed }: Charge): boolean => amountRefunded > 0 || disputed;

/** Lists the charges that paid for the period of a subscription that runs, or ran last. */
const paidFor = async (deps: StripeDeps, remote: RemoteSubscription): Promise<Charge[]> =>
  (await charges(deps, remote.customer)).filter(
    (charge) => charge.subscription === remote.id && isOfPeriod(charge, remote),
  );

/**
 * Answers how the rest of a period is credited when its subscription ends: by the processor, which credits everything
 * that was debited whatever became of its charges; or charge by charge, where some of them went back. `isLate`: the
 * credit waited for a refund that was refused, so the subscription may have ended without it.
 */
export async function howToCredit(
  deps: StripeDeps,
  remote: RemoteSubscription | undefined,
  isLate: boolean,
): Promise<'nothing' | 'prorate' | 'charges'> {
  if (!remote || (remote.status !== 'active' && remote.status !== 'canceled')) return 'nothing';
  const latest = typeof remote.latest_invoice === 'object' ? remote.latest_invoice : undefined;
  if (remote.status === 'active' && latest && latest.status !== 'paid') return 'nothing';
  if (remote.status === 'canceled' && (latest?.total ?? 0) < 0) return 'nothing'; // it was credited as it ended
  const someWentBack = (await paidFor(deps, remote)).some(wentBack);
  if (remote.status === 'canceled') return someWentBack || isLate ? 'charges' : 'nothing';
  return someWentBack ? 'charges' : 'prorate';
}

/**
 * Credits the customer with what is left of each charge for the period of a subscription that has ended. The amount is
 * reckoned from the end that the processor knows, so that a repeat asks for the same under the same key; later its
 * invoice tells of the credit.
 */
export async function creditCharges(deps: StripeDeps, remote: RemoteSubscription | undefined): Promise<void> {
  const until = remote?.items?.data[0]?.current_period_end ?? remote?.current_period_end;
  if (!remote?.ended_at || !until) return;
  const { stripe, once, serviceName } = deps;
  for (const charge of await paidFor(deps, remote)) {
    const share = Math.min(1, Math.max(0, until - remote.ended_at) / (until - charge.paysFrom));
    const cents = Math.floor(charge.amount * share);
    if (wentBack(charge) || charge.credited || charge.invoice === null || !(cents > 0)) continue;
    const note = {
      invoice: charge.invoice,
      amount: cents,
      credit_amount: cents,
      metadata: { service: serviceName, charge: charge.id },
    };
    await once(`credit:${charge.id}`, (options) => stripe.creditNotes.create(note, options));
  }
}
