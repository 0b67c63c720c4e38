import type { AuditActor } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { newId } from '../../platform/kernel/index.ts';
import type { Tier } from '../../entitlements/index.ts';

/** A call to the processor that a commit has made necessary. */
export type Task =
  /** `isLate`: the credit waited for a refund, so the subscription may have ended without it. */
  | { kind: 'cancel'; subscription: string; refundRest: boolean; isLate?: boolean }
  /** The lower plan has begun: its metadata says so. */
  | { kind: 'apply'; subscription: string; tier: Tier }
  /** Events of it came in an order that says nothing: the processor knows how it stands. */
  | { kind: 'sync'; subscription: string }
  /**
   * Gives a charge back, which stands in the place of the subscription; `of`: the subscription whose period that runs
   * it paid for; `ends`: what ends once the money is back; `owesCredit`: that subscription has ended, and its credit waits
   * for the outcome.
   */
  | {
      kind: 'refund';
      subscription: string;
      by: AuditActor;
      of: string | null;
      ends: PaidFor | null;
      owesCredit?: boolean;
    };

/** What an organization takes its money back for by itself. */
export type PaidFor = {
  /** Null: nothing that runs. */
  subscription: string | null;
  /** The processor says that the charge paid for it. */
  isNamed: boolean;
  /** No other charge is taken back with it. */
  isAlone: boolean;
};

export interface TaskRow {
  id: string;
  orgId: string;
  kind: Task['kind'];
  subscription: string;
  data: {
    refundRest?: boolean;
    isLate?: boolean;
    tier?: Tier;
    by?: AuditActor;
    of?: string | null;
    ends?: PaidFor | null;
  };
  attempts: number;
}

/** In the transaction that makes it necessary. One that waits already is enough, and has the latest words. */
export async function addTask(sql: Sql, orgId: string, { kind, subscription, ...data }: Task): Promise<void> {
  await sql`
    insert into payment_tasks (id, org_id, kind, subscription_id, data)
    values (${newId()}, ${orgId}, ${kind}, ${subscription}, ${sql.json(data)})
    on conflict (subscription_id, kind) do update set id = excluded.id, data = excluded.data, attempts = 0,
      due_at = now()`;
}

/** Takes due tasks, of one org or of all; whoever does not finish one leaves it to be taken again. */
export const takeTasks = (sql: Sql, orgId: string | undefined, limit: number) => sql<TaskRow[]>`
  update payment_tasks t
  set attempts = attempts + 1, due_at = now() + least(interval '6 hours', interval '1 minute' * 2 ^ least(attempts, 10))
  where id in (
    select id
    from payment_tasks /* all orgs */
    where due_at <= now() ${orgId === undefined ? sql`` : sql`and org_id = ${orgId}`}
    order by due_at, id
    limit ${limit}
    for update skip locked
  )
  returning id, org_id as "orgId", kind, subscription_id as subscription, data, attempts`;
export const endTask = (sql: Sql, orgId: string, id: string) =>
  sql`delete from payment_tasks where org_id = ${orgId} and id = ${id}`;
/** Undefined: somebody else finished it. `owesCredit`: a credit has waited for its outcome. */
export async function endRefund(sql: Sql, orgId: string, charge: string): Promise<{ owesCredit: boolean } | undefined> {
  const [row] = await sql<{ owesCredit: boolean }[]>`
    delete from payment_tasks
    where org_id = ${orgId}
      and subscription_id = ${charge}
      and kind = 'refund'
    returning coalesce(data->>'owesCredit', 'false') = 'true' as "owesCredit"`;
  return row;
}
/** What a refund that waits does beside giving the money back. */
type WaitingRefund = { ends: PaidFor | null; owesCredit: boolean };

/** Finds the charges that are still to be refunded, with what ends or is credited by the outcome. */
export async function waitingRefunds(
  sql: Sql,
  orgId: string,
  charges: readonly string[],
): Promise<Map<string, WaitingRefund>> {
  const rows = await sql<({ id: string } & WaitingRefund)[]>`
    select subscription_id as id, nullif(data -> 'ends', 'null') as ends,
      coalesce(data->>'owesCredit', 'false') = 'true' as "owesCredit"
    from payment_tasks
    where org_id = ${orgId}
      and kind = 'refund'
      and subscription_id = any(${charges}::text[])`;
  return new Map(rows.map(({ id, ends, owesCredit }) => [id, { ends, owesCredit }]));
}
/**
 * Puts the credit for the rest of a period off while a charge for it is still to be refunded: whoever notes the outcome
 * credits what did not go back. False: no refund is waited for.
 */
export async function deferCredit(sql: Sql, orgId: string, subscription: string): Promise<boolean> {
  const { count } = await sql`
    update payment_tasks
    set data = data || '{"owesCredit": true}'
    where org_id = ${orgId}
      and kind = 'refund'
      and data->>'of' = ${subscription}`;
  return count > 0;
}
/** Tells whether the rest of its period is still to be credited. */
export async function credits(sql: Sql, orgId: string, subscription: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from payment_tasks
    where org_id = ${orgId}
      and kind = 'cancel'
      and subscription_id = ${subscription}
      and data->>'refundRest' = 'true'`;
  return rows.length > 0;
}
export const failTask = (sql: Sql, orgId: string, id: string, error: string) =>
  sql`update payment_tasks set last_error = ${error} where org_id = ${orgId} and id = ${id}`;
