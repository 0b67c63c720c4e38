import type { Sql } from '../../platform/db/index.ts';

/** The first UUID v7 of an instant: ids of attempts sort by time, so their age needs no index of its own. */
const firstIdOf = (at: Date): string => {
  const hex = at.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};

/**
 * Deletes at most `limit` attempts, as many deliveries that were over, and as many webhooks that were deleted and have
 * none left, older than `keptMs` by the database's clock; answers how many of all.
 */
export async function dropOldDeliveries(sql: Sql, keptMs: number, limit: number): Promise<number> {
  const [row] = await sql<{ until: Date }[]>`select now() - ${keptMs}::float8 * interval '1 ms' as until`;
  const { until } = row!;
  const attempts = await sql`/* all orgs */
    delete from webhook_attempts
    where id = any(array(
      select id
      from webhook_attempts
      where id < ${firstIdOf(until)}
      order by id
      limit ${limit}
    ))`;
  const deliveries = await sql`/* all orgs */
    delete from webhook_deliveries
    where id = any(array(
      select id
      from webhook_deliveries
      where state <> 'pending' and created_at < ${until}
      order by created_at
      limit ${limit}
      for update
      skip locked -- a replay locks them in another order, and those that it queues again stay
    ))`;
  const webhooks = await sql`/* all orgs */
    delete from webhooks
    where id = any(array(
      select w.id
      from webhooks w
      where w.deleted_at < ${until}
        and not exists (select from webhook_deliveries d where d.webhook_id = w.id)
        and not exists (select from webhook_attempts a where a.webhook_id = w.id)
      order by w.deleted_at
      limit ${limit}
      for update of w
      skip locked
    ))`;
  return attempts.count + deliveries.count + webhooks.count;
}
