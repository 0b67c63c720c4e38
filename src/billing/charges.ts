import type { Doer } from '../audit/index.ts';
import type { Database, Sql } from '../db/index.ts';
import { AppError, type Clock } from '../kernel/index.ts';
import type { Charge, Processor } from './processor.ts';
import type { Settle } from './settle.ts';
import { REFUND_DAYS } from './subscription-rules.ts';
import { claimSelfRefund, findCustomer, findSubscription } from './subscription-store.ts';
import { addTask, waitingRefunds } from './task-store.ts';
import type { Tasks } from './tasks.ts';

export interface ChargesNeeds {
  sql: Database;
  clock: Clock;
  processor: Processor;
  settle: Settle;
  tasks: Pick<Tasks, 'now'>;
  hold(sql: Sql, orgId: string): Promise<void>;
}
export interface Refunds {
  refunded: string[];
  failed: { id: string; reason: string }[];
}

const DAY_MS = 86_400_000;
/** As the processor names things; anything else would be another address of its interface. */
const ID = /^[a-z]+_\w+$/;
type Paid = NonNullable<Awaited<ReturnType<Processor['charge']>>>;
const ONCE_A_YEAR = 'Charges were given back within a year already: ask the operator';
const unknown = 'There is no such charge';

/** What an org has paid, and money back (S67, S68). */
export function openCharges({ sql, clock, processor, settle, tasks, hold }: ChargesNeeds) {
  /** The charge, or why it may not be given back. */
  async function judge(id: string, customer: string | undefined, anyAge: boolean): Promise<Paid | string> {
    const charge = customer !== undefined && ID.test(id) ? await processor.charge(id) : undefined;
    if (charge?.customer !== customer || charge === undefined) return unknown;
    if (!anyAge && charge.created * 1000 < clock.in(-REFUND_DAYS * DAY_MS).getTime()) return `The charge is older than ${REFUND_DAYS} days`;
    return charge;
  }
  /** Writes down what the processor is to give back, and ends the plan: answers the charges that may go. */
  async function order(tx: Sql, orgId: string, by: Doer, charges: ReadonlyMap<string, Paid>, anyAge: boolean): Promise<readonly string[]> {
    await hold(tx, orgId);
    const due = [...charges].filter(([, { refunded }]) => !refunded).map(([id]) => id);
    const waiting = await waitingRefunds(tx, orgId, [...charges.keys()]); // ordered before, and not written down as done
    const isFirst = due.length > 0 && !anyAge && waiting.length === 0 && (await claimSelfRefund(tx, orgId));
    const ordered = [...new Set([...waiting, ...(anyAge || isFirst ? due : [])])];
    for (const subscription of ordered) await addTask(tx, orgId, { kind: 'refund', subscription, by });
    const plan = isFirst ? (await findSubscription(tx, orgId))?.processorId : undefined;
    if (plan) {
      await settle.end(tx, orgId, plan, by);
      await addTask(tx, orgId, { kind: 'cancel', subscription: plan, refundRest: false });
    }
    return ordered;
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
     * `anyAge`: for super-admins. An organization does it once a year, and its plan ends by the same commit: nobody keeps what they take the
     * money back for. The processor is told of both by tasks, so that what fails half-way is finished; asked again, it is tried at once.
     */
    async refundCharges(orgId: string, by: Doer, ids: readonly string[], anyAge: boolean): Promise<Refunds> {
      const customer = await findCustomer(sql, orgId);
      const judged = new Map<string, Paid | string>();
      for (const id of new Set(ids)) judged.set(id, await judge(id, customer, anyAge));
      const charges = new Map([...judged].flatMap(([id, charge]) => (typeof charge === 'object' ? [[id, charge] as const] : [])));
      const ordered = await sql.begin((tx) => order(tx, orgId, by, charges, anyAge));
      if (ordered.length > 0) await tasks.now(orgId);
      const waiting = await waitingRefunds(sql, orgId, ordered);
      if (waiting.length > 0) throw new AppError('unavailable', 'The payment processor does not answer: it is asked again until the money is given back');

      const result: Refunds = { refunded: [], failed: [] };
      for (const [id, charge] of judged) {
        const reason = typeof charge === 'string' ? charge : await outcome(id, charge, ordered.includes(id));
        if (reason === undefined) result.refunded.push(id);
        else result.failed.push({ id, reason });
      }
      return result;
    },
  };
}
