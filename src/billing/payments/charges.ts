import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock } from '../../platform/kernel/index.ts';
import type { Charge, Processor } from '../processor/index.ts';
import { REFUND_DAYS, wasCredited } from '../subscriptions/index.ts';
import { claimSelfRefund, findCustomer, findKnown, findSubscription } from '../subscriptions/index.ts';
import { addTask, credits, waitingRefunds, isOfPeriod, wasCutShort } from '../processor/index.ts';
import type { Refusals } from './refund.ts';
import type { Tasks } from './tasks.ts';

export interface ChargesNeeds {
  sql: Database;
  clock: Clock;
  processor: Processor;
  tasks: Pick<Tasks, 'now'>;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
}
export interface Refunds {
  refunded: string[];
  failed: { id: string; reason: string }[];
}

const DAY_MS = 86_400_000;
/** As the processor names things; anything else would be another address of its interface. */
const ID = /^[a-z]+_\w+$/;
/**
 * A charge; `paidFor`: the subscription that it paid for, in whichever period, null where the processor names none;
 * `of`: the same, where the period that runs was paid for; `hadEnded`: whether that was over as the processor was asked
 * about it.
 */
type Paid = NonNullable<Awaited<ReturnType<Processor['charge']>>> & {
  paidFor: string | null;
  of: string | null;
  hadEnded: boolean;
};
const ONCE_A_YEAR = 'Charges were given back within a year already: ask the operator';
const CREDITED = 'What was left of it was credited when it ended, and money goes back once: ask the operator';
const REFUSED = 'The payment processor refused it';
const LATE = 'What it paid for ended just now: ask again';
const unknown = 'There is no such charge';

/** Lists charges of an org and refunds them (S67, S68). */
export function openCharges({ sql, clock, processor, tasks, lockOrg }: ChargesNeeds) {
  /** The charge, or why it may not be given back. */
  async function judge(
    id: string,
    customer: string | undefined,
    anyAge: boolean,
    paidFor: ReadonlyMap<string, string | null>,
  ): Promise<Paid | string> {
    const charge = customer !== undefined && ID.test(id) ? await processor.charge(id) : undefined;
    if (charge?.customer !== customer || charge === undefined) return unknown;
    if (!anyAge && charge.created * 1000 < clock.in(-REFUND_DAYS * DAY_MS).getTime())
      return `The charge is older than ${REFUND_DAYS} days`;
    const subscription = paidFor.get(id) ?? null;
    const past = { ...charge, paidFor: subscription, of: null, hadEnded: true };
    if (charge.refunded || !subscription) return past;
    // In this order: what ends after the first look is seen by `order`, and what had ended is credited by a task that
    // waits, or was credited.
    const known = await findKnown(sql, subscription);
    const hadEnded = Boolean(known?.endedAt);
    if (known && (await credits(sql, known.orgId, subscription))) return CREDITED;
    if (hadEnded && (await processor.charges(customer!)).some((one) => one.id === id && one.credited)) return CREDITED;
    const remote = await processor.subscription(subscription);
    // within the days of a self-service refund; an operator knows what was credited of an older one
    if (remote && !anyAge && wasCutShort(charge, remote)) return CREDITED;
    if (!remote || !isOfPeriod(charge, remote)) return past;
    return wasCredited(remote) ? CREDITED : { ...past, of: subscription, hadEnded };
  }
  /**
   * Writes down what the processor is to give back, and what ends by that: answers the charges that may go, and those
   * whose subscription ended since they were judged.
   */
  async function order(
    tx: Sql,
    orgId: string,
    by: AuditActor,
    charges: ReadonlyMap<string, Paid>,
    anyAge: boolean,
  ): Promise<{ ordered: string[]; late: string[] }> {
    await lockOrg(tx, orgId);
    const late: string[] = [];
    for (const [id, { of, hadEnded }] of charges)
      if (of !== null && !hadEnded && (await findKnown(tx, of))?.endedAt) late.push(id);
    const due = [...charges].filter(([id, { refunded }]) => !refunded && !late.includes(id)).map(([id]) => id);
    // ordered before, and not written down as done
    const waiting = await waitingRefunds(tx, orgId, [...charges.keys()]);
    const isFirst = due.length > 0 && !anyAge && waiting.size === 0 && (await claimSelfRefund(tx, orgId));
    const ordered = [...new Set([...waiting.keys(), ...(anyAge || isFirst ? due : [])])];
    const plan = (await findSubscription(tx, orgId))?.processorId ?? null;
    for (const id of ordered) {
      const { paidFor, of } = charges.get(id)!;
      // a charge of which the processor names nothing counts as one of the plan
      const ends = isFirst
        ? { subscription: paidFor ?? plan, isNamed: paidFor !== null, isAlone: due.length === 1 }
        : (waiting.get(id)?.ends ?? null);
      const owesCredit = waiting.get(id)?.owesCredit ?? false;
      await addTask(tx, orgId, { kind: 'refund', subscription: id, by, of, ends, owesCredit });
    }
    return { ordered, late: late.filter((id) => !ordered.includes(id)) };
  }
  /** Why it was not given back; undefined: it was. */
  async function outcome(
    id: string,
    before: Paid,
    { ordered, refusals }: { ordered: readonly string[]; refusals: Refusals },
  ): Promise<string | undefined> {
    if (before.refunded) return undefined;
    if (!ordered.includes(id)) return ONCE_A_YEAR;
    const words = refusals.get(id);
    if (words !== undefined) return `${REFUSED}: ${words}`;
    return (await processor.charge(id))?.refunded ? undefined : REFUSED; // by another process
  }

  return {
    async charges(orgId: string): Promise<Charge[]> {
      const customer = await findCustomer(sql, orgId);
      return customer === undefined ? [] : processor.charges(customer);
    },

    /**
     * `anyAge`: for super-admins. An organization does it once a year, and what the charges paid for ends by the commit
     * that notes that the money is back: nobody keeps what they take it back for, or loses it where the processor
     * refuses. The processor is told of both by tasks, so that what fails half-way is finished; asked again, it is
     * tried at once.
     */
    async refundCharges(orgId: string, by: AuditActor, ids: readonly string[], anyAge: boolean): Promise<Refunds> {
      const customer = await findCustomer(sql, orgId);
      const judged = new Map<string, Paid | string>();
      const paidFor = new Map(
        customer === undefined
          ? []
          : (await processor.charges(customer)).map((charge) => [charge.id, charge.subscription]),
      );
      for (const id of new Set(ids)) judged.set(id, await judge(id, customer, anyAge, paidFor));
      const charges = new Map(
        [...judged].flatMap(([id, charge]) => (typeof charge === 'object' ? [[id, charge] as const] : [])),
      );
      const { ordered, late } = await sql.begin((tx) => order(tx, orgId, by, charges, anyAge));
      const refusals: Refusals = ordered.length > 0 ? await tasks.now(orgId) : new Map();
      const waiting = await waitingRefunds(sql, orgId, ordered);
      if (waiting.size > 0)
        throw new AppError(
          'unavailable',
          'The payment processor does not answer: it is asked again until the money is given back',
        );

      const result: Refunds = { refunded: [], failed: [] };
      for (const [id, charge] of judged) {
        const reason =
          typeof charge === 'string'
            ? charge
            : late.includes(id)
              ? LATE
              : await outcome(id, charge, { ordered, refusals });
        if (reason === undefined) result.refunded.push(id);
        else result.failed.push({ id, reason });
      }
      return result;
    },
  };
}
