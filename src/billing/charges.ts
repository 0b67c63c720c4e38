import type { Doer } from '../audit/index.ts';
import type { Database } from '../db/index.ts';
import { AppError, type Clock } from '../kernel/index.ts';
import type { Charge, Processor } from './processor.ts';
import type { Settle } from './settle.ts';
import { REFUND_DAYS } from './subscription-rules.ts';
import { findCustomer } from './subscription-store.ts';

export interface ChargesNeeds {
  sql: Database;
  clock: Clock;
  processor: Processor;
  settle: Settle;
}
export interface Refunds {
  refunded: string[];
  failed: { id: string; reason: string }[];
}

const DAY_MS = 86_400_000;
/** As the processor names things; anything else would be another address of its interface. */
const ID = /^[a-z]+_\w+$/;
const unknown = 'There is no such charge';

/** What an org has paid, and money back (S67, S68). */
export function openCharges({ sql, clock, processor, settle }: ChargesNeeds) {
  /** Why it cannot be given back; undefined: it was. */
  async function refund(id: string, customer: string, anyAge: boolean): Promise<string | undefined> {
    const charge = ID.test(id) ? await processor.charge(id) : undefined;
    if (charge?.customer !== customer) return unknown;
    if (!anyAge && charge.created * 1000 < clock.in(-REFUND_DAYS * DAY_MS).getTime()) return `The charge is older than ${REFUND_DAYS} days`;
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

    /** `anyAge`: for super-admins. Each charge for itself: what was given back stays so when a later one fails. */
    async refundCharges(orgId: string, by: Doer, ids: readonly string[], anyAge: boolean): Promise<Refunds> {
      const customer = await findCustomer(sql, orgId);
      const result: Refunds = { refunded: [], failed: [] };
      for (const id of new Set(ids)) {
        const reason = customer === undefined ? unknown : await refund(id, customer, anyAge);
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
