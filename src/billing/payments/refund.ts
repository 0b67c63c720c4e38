import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { addTask, deferCredit, endRefund, type PaidFor, type Processor, type TaskRow } from '../processor/index.ts';
import { type Apply, PROCESSOR, returnSelfRefund, runningOf } from '../subscriptions/index.ts';

export interface RefundNeeds {
  sql: Database;
  processor: Processor;
  apply: Apply;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  log: Log;
}
/** The processor's words on refunds that it refused for good, by charge. */
export type Refusals = Map<string, string>;

/**
 * Orders the credit for the rest of a period once no refund of it is waited for: of the charges that did not go back.
 */
async function creditRest(tx: Sql, orgId: string, subscription: string): Promise<void> {
  if (await deferCredit(tx, orgId, subscription)) return;
  await addTask(tx, orgId, { kind: 'cancel', subscription, refundRest: true, isLate: true });
}

/**
 * Ends what a charge paid for, as far as it runs. The rest of a period is credited as far as other charges paid for it,
 * which do not go back; of a charge of which the processor names nothing it is not known what it paid for.
 */
async function endPaidFor(
  apply: Apply,
  tx: Sql,
  orgId: string,
  by: AuditActor,
  { subscription, isNamed }: PaidFor,
): Promise<void> {
  const runs = (await runningOf(tx, orgId)).some(({ id }) => id === subscription); // packs end with their plan
  if (subscription === null || !runs) return;
  const refundRest = isNamed && !(await deferCredit(tx, orgId, subscription));
  await apply.end(tx, orgId, subscription, by);
  await addTask(tx, orgId, { kind: 'cancel', subscription, refundRest });
}

/**
 * Gives a charge back, noted once: what it paid for ends by the same commit. What the processor refuses for good is not
 * asked for again, ends nothing and uses up no right to a refund.
 */
export async function performRefund(
  { sql, processor, apply, lockOrg, log }: RefundNeeds,
  { orgId, subscription: charge, data: { by = PROCESSOR, of = null, ends } }: TaskRow,
  refusals: Refusals,
): Promise<void> {
  const refused = await processor.refund(charge);
  // it may have been given back by somebody else
  const reason = refused !== undefined && !(await processor.charge(charge))?.refunded ? refused : undefined;
  await sql.begin(async (tx) => {
    await lockOrg(tx, orgId);
    const ended = await endRefund(tx, orgId, charge);
    if (!ended) return;
    if (reason === undefined) {
      await apply.note(tx, orgId, 'charge_refunded', by, { charge });
      if (ends) await endPaidFor(apply, tx, orgId, by, ends);
    } else {
      await apply.note(tx, orgId, 'refund_refused', by, { charge, reason });
      if (ends?.isAlone) await returnSelfRefund(tx, orgId);
    }
    if (ended.owesCredit && of !== null) await creditRest(tx, orgId, of);
  });
  if (reason === undefined) return;
  refusals.set(charge, reason);
  log.warn({ orgId, charge, reason }, 'the payment processor refused a refund, which is not asked for again');
}
