import { dealt, type Fragment, type Sql } from '../../../platform/db/index.ts';

/** The slot of the webhook `w` is one that its holder has lost: it was held too long, or its host is silent. */
export const isSlotLost = (sql: Sql): Fragment => sql`(
        w.slot_until < now()
        or exists (
          select
          from actor_hosts h
          where h.incarnation = w.slot_incarnation
            and h.last_heartbeat < now() - interval '5 s'
        )
      )`;

/** The slot is held for what was claimed, and free where nothing was. */
export const slotOf = (sql: Sql, { incarnation, leaseMs }: { incarnation: string; leaseMs: number }): Fragment => sql`
      slot_incarnation = case
        when not x.mine then w.slot_incarnation
        when x.claimed_id is not null then ${incarnation} end,
      slot_delivery_id = case
        when not x.mine then w.slot_delivery_id
        else x.claimed_id end,
      slot_until = case
        when not x.mine then w.slot_until
        when x.claimed_id is not null then now() + ${leaseMs}::float8 * interval '1 ms' end`;

const isDue = (sql: Sql): Fragment => sql`w.due_at < now() - interval '5 s' and w.slot_incarnation is null`;
const isLeft = (sql: Sql): Fragment => sql`w.slot_incarnation is not null and ${isSlotLost(sql)}`;

/** Holds where `overdueWebhooks` finds something. */
export const webhookIsOverdue = (sql: Sql): Fragment => sql`(
      exists (select from webhooks w where ${isDue(sql)} and w.deleted_at is null)
      or exists (select from webhooks w where ${isLeft(sql)} and w.deleted_at is null)
    )`;

/**
 * Actors of webhooks with an attempt that is 5 s past and that nobody works on, and of those whose host is silent or
 * too slow; both dealt over organizations.
 */
export async function overdueWebhooks(sql: Sql, limit: number): Promise<string[]> {
  const keysOf = (condition: Fragment) => sql`
    select "orgId" || ':' || id as key
    from ${dealt(
      sql,
      sql`
        select w.org_id as "orgId", w.id, w.due_at as at
        from webhooks w
        where ${condition}
          and w.deleted_at is null`,
      limit,
    )} overdue`;
  const rows = await sql<{ key: string }[]>`/* all orgs */
    ${keysOf(isDue(sql))}
    union all
    ${keysOf(isLeft(sql))}`;
  return rows.map(({ key }) => key);
}

/** Attempts that wait, those of them that were due 5 s ago, and what each host is sending, by its incarnation. */
export async function workOfWebhooks(
  sql: Sql,
): Promise<{ pending: number; overdue: number; underWay: Record<string, number> }> {
  const [[waiting], held] = await Promise.all([
    sql<{ pending: number; overdue: number }[]>`/* all orgs */
      select count(*)::int as pending, (count(*) filter (where due_at < now() - interval '5 s'))::int as overdue
      from webhooks
      where due_at is not null and slot_incarnation is null and deleted_at is null`,
    sql<{ incarnation: string; n: number }[]>`/* all orgs */
      select slot_incarnation as incarnation, count(*)::int as n
      from webhooks
      where slot_incarnation is not null
      group by 1`,
  ]);
  return { ...waiting!, underWay: Object.fromEntries(held.map(({ incarnation, n }) => [incarnation, n])) };
}
