import type { Doer } from '../audit/index.ts';
import type { Database } from '../db/index.ts';
import { AppError, type Clock } from '../kernel/index.ts';
import type { Charge, Processor } from './processor.ts';
import type { Settle } from './settle.ts';
import { REFUND_DAYS } from './subscription-rules.ts';
import { claimSelfRefund, findCustomer, findSubscription } from './subscription-store.ts';

export interface ChargesNeeds {
  sql: Database;
  clock: Clock;
  processor: Processor;
  settle: Settle;
  /** Ends the plan now. */
  cancelNow(orgId: string, by: Doer): Promise<void>;
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
export function openCharges({ sql, clock, processor, settle, cancelNow }: ChargesNeeds) {
  /** The charge, or why it may not be given back. */
  async function judge(id: string, customer: string | undefined, anyAge: boolean): Promise<Paid | string> {
    const charge = customer !== undefined && ID.test(id) ? await processor.charge(id) : undefined;
    if (charge?.customer !== customer || charge === undefined) return unknown;
    if (!anyAge && charge.created * 1000 < clock.in(-REFUND_DAYS * DAY_MS).getTime()) return `The charge is older than ${REFUND_DAYS} days`;
    return charge;
  }
  /** Why it cannot be given back; undefined: it was. */
  async function refund(id: string): Promise<string | undefined> {
    try {
      await processor.refund(id);
      return undefined;
    } catch (error) {
      if (error instanceof AppError && error.code === 'provider_failed') return 'The payment processor refused it: the charge may be refunded already';
      throw error;
    }
  }

  return {
    async charges(orgId: string): Promise<Charge[]> {
      const customer = await findCustomer(sql, orgId);
      return customer === undefined ? [] : processor.charges(customer);
    },

    /**
     * `anyAge`: for super-admins. Each charge for itself: what was given back stays so when a later one fails. An organization does it once
     * a year, and its plan ends first: nobody keeps what they take the money back for.
     */
    async refundCharges(orgId: string, by: Doer, ids: readonly string[], anyAge: boolean): Promise<Refunds> {
      const customer = await findCustomer(sql, orgId);
      const result: Refunds = { refunded: [], failed: [] };
      const judged = new Map<string, Paid | string>();
      for (const id of new Set(ids)) judged.set(id, await judge(id, customer, anyAge));
      const moves = [...judged.values()].some((charge) => typeof charge === 'object' && !charge.refunded);
      const spent = moves && !anyAge && !(await claimSelfRefund(sql, orgId));
      if (moves && !anyAge && !spent && (await findSubscription(sql, orgId))?.processorId) await cancelNow(orgId, by);
      for (const [id, charge] of judged) {
        const mayGo = typeof charge === 'object' && (!spent || charge.refunded);
        const reason = typeof charge === 'string' ? charge : mayGo ? await refund(id) : ONCE_A_YEAR;
        if (reason !== undefined) {
          result.failed.push({ id, reason });
          continue;
        }
        result.refunded.push(id);
        await settle.note(sql, orgId, 'charge_refunded', by, { charge: id });
      }
      return result;
    },
  };
}
