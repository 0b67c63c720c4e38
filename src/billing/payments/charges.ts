import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock } from '../../platform/kernel/index.ts';
import type { Charge, Processor } from '../processor/index.ts';
import type { Apply } from '../subscriptions/index.ts';
import { REFUND_DAYS, wasCredited } from '../subscriptions/index.ts';
import { claimSelfRefund, findCustomer, findKnown, findSubscription, runningOf } from '../subscriptions/index.ts';
import { addTask, credits, givesBack, waitingRefunds, isOfPeriod, wasCutShort } from '../processor/index.ts';
import type { Tasks } from './tasks.ts';

export interface ChargesNeeds {
  sql: Database;
  clock: Clock;
  processor: Processor;
  apply: Apply;
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
const LATE = 'What it paid for ended just now: ask again';
const unknown = 'There is no such charge';

/**
 * Ends what charges paid for, as far as it runs; a charge of which the processor names nothing counts as one of the
 * plan. The rest of a period is credited, but where it is paid back.
 */
async function endPaidFor(
  apply: Apply,
  tx: Sql,
  orgId: string,
  by: AuditActor,
  charges: readonly Paid[],
): Promise<void> {
  const plan = (await findSubscription(tx, orgId))?.processorId ?? null;
  for (const subscription of new Set(charges.map(({ paidFor }) => paidFor ?? plan))) {
    const runs = (await runningOf(tx, orgId)).some(({ id }) => id === subscription); // packs end with their plan
    if (subscription === null || !runs) continue;
    const isUnknown = subscription === plan && charges.some(({ paidFor }) => paidFor === null);
    const refundRest = !isUnknown && !(await givesBack(tx, orgId, subscription));
    await apply.end(tx, orgId, subscription, by);
    await addTask(tx, orgId, { kind: 'cancel', subscription, refundRest });
  }
}

/** Lists charges of an org and refunds them (S67, S68). */
export function openCharges({ sql, clock, processor, apply, tasks, lockOrg }: ChargesNeeds) {
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
    const remote = await processor.subscription(subscription);
    // within the days of a self-service refund; an operator knows what was credited of an older one
    if (remote && !anyAge && wasCutShort(charge, remote)) return CREDITED;
    if (!remote || !isOfPeriod(charge, remote)) return past;
    return wasCredited(remote) ? CREDITED : { ...past, of: subscription, hadEnded };
  }
  /**
   * Writes down what the processor is to give back, and ends what was paid for: answers the charges that may go, and
   * those whose subscription ended since they were judged.
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
    const isFirst = due.length > 0 && !anyAge && waiting.length === 0 && (await claimSelfRefund(tx, orgId));
    const ordered = [...new Set([...waiting, ...(anyAge || isFirst ? due : [])])];
    for (const id of ordered)
      await addTask(tx, orgId, { kind: 'refund', subscription: id, by, of: charges.get(id)?.of ?? null });
    if (isFirst)
      await endPaidFor(
        apply,
        tx,
        orgId,
        by,
        due.map((id) => charges.get(id)!),
      );
    return { ordered, late: late.filter((id) => !ordered.includes(id)) };
  }
  /** Why it was not given back; undefined: it was. */
  async function outcome(id: string, before: Paid, wasOrdered: boolean): Promise<string | undefined> {
    if (before.refunded) return undefined;
    if (!wasOrdered) return ONCE_A_YEAR;
    return (await processor.charge(id))?.refunded ? undefined : 'The payment processor refused it';
  }

  return {
    async charges(orgId: string): Promise<Charge[]> {
      const customer = await findCustomer(sql, orgId);
      return customer === undefined ? [] : processor.charges(customer);
    },

    /**
     * `anyAge`: for super-admins. An organization does it once a year, and what the charges paid for ends by the same
     * commit: nobody keeps what they take the money back for. The processor is told of both by tasks, so that what fails
     * half-way is finished; asked again, it is tried at once.
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
      if (ordered.length > 0) await tasks.now(orgId);
      const waiting = await waitingRefunds(sql, orgId, ordered);
      if (waiting.length > 0)
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
              : await outcome(id, charge, ordered.includes(id));
        if (reason === undefined) result.refunded.push(id);
        else result.failed.push({ id, reason });
      }
      return result;
    },
  };
}
