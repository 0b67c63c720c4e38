import type { Sql } from '../../platform/db/index.ts';

interface EventRow {
  id: string;
  type: string;
  orgId: string | null;
  subscriptionId: string | null;
  outcome: string;
  createdAt: Date;
}
/** False: it was here before, or another delivery of it has just been written. */
export async function insertEvent(
  sql: Sql,
  { id, type, orgId, subscriptionId, outcome, createdAt }: EventRow,
): Promise<boolean> {
  const rows = await sql`
    insert into payment_events (id, type, org_id, subscription_id, outcome, created_at)
    values (${id}, ${type}, ${orgId}, ${subscriptionId}, ${outcome}, ${createdAt})
    on conflict (id) do nothing
    returning 1`;
  return rows.length > 0;
}
export const saveOutcome = (sql: Sql, orgId: string, id: string, outcome: string) =>
  sql`update payment_events set outcome = ${outcome} where org_id = ${orgId} and id = ${id}`;
export async function eventKnown(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`select from payment_events /* all orgs */ where id = ${id}`;
  return rows.length > 0;
}

/**
 * Deletes events received more than 90 days ago, at most `limit`; answers how many. The processor repeats one for three
 * days, and a person can send it again for a month; the rest of the time is for reading a customer's history.
 */
export async function dropOldEvents(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from payment_events
    where id = any(array(
      select id
      from payment_events
      where received_at < now() - interval '90 days'
      order by received_at
      limit ${limit}
      for update
      skip locked
    ))`;
  return count;
}
