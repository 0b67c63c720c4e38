import type { Sql } from '../../platform/db/index.ts';

/**
 * Organizations with a transition due: something of a grace period is due, or a trial is over and the processor, asked
 * an hour ago or not yet, has not said how it goes on.
 */
export async function orgsDue(sql: Sql, limit: number, without: readonly string[]): Promise<string[]> {
  const others = sql`org_id <> all(${[...without]}::uuid[])`;
  const rows = await sql<{ orgId: string }[]>`
    (select org_id as "orgId"
      from subscriptions /* all orgs */
      where grace_due_at <= now()
        and ${others}
      order by grace_due_at
      limit ${limit})
    union
    (select org_id
      from subscriptions /* all orgs */ s
      where is_trial
        and ${others}
        and trial_ends_at <= now() - interval '1 hour'
        and updated_at <= now() - interval '1 hour'
        and not exists (
          select from payment_tasks t
          where t.org_id = s.org_id
            and t.subscription_id = s.processor_id
            and t.kind = 'sync'
        )
      order by trial_ends_at
      limit ${limit})`;
  return rows.map(({ orgId }) => orgId);
}

/** The time of the next transition of an org; null: there is none. */
export async function nextTransition(sql: Sql, orgId: string): Promise<Date | null> {
  const [row] = await sql<{ at: Date | null }[]>`
    select least(grace_due_at, case when is_trial and trial_ends_at > now() then trial_ends_at end) as at
    from subscriptions
    where org_id = ${orgId}`;
  return row?.at ?? null;
}

/** The subscription at the processor of an org whose trial should be over. */
export async function overdueTrial(sql: Sql, orgId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select processor_id as id
    from subscriptions
    where org_id = ${orgId}
      and is_trial
      and trial_ends_at <= now()
      and processor_id is not null`;
  return row?.id;
}

/** Locks what is due of a grace period that is not over: the notice after `notices` others. */
export async function dueNotice(sql: Sql, orgId: string): Promise<{ end: Date; notices: number } | undefined> {
  const [row] = await sql<{ end: Date; notices: number }[]>`
    select grace_period_end as end, grace_notices as notices
    from subscriptions
    where org_id = ${orgId}
      and grace_due_at <= now()
    for update`;
  return row;
}

/** A notice is out; the next one, or the end, is due on day `next` of `days`. */
export const noticeSent = (sql: Sql, orgId: string, next: number, days: number) => sql`
  update subscriptions
  set grace_notices = grace_notices + 1, grace_due_at = grace_period_end - ${days - next}::float8 * interval '1 day'
  where org_id = ${orgId}`;
/** Ends a grace period that is over; false: there is none, or its end was seen before. */
export async function endOverdueGrace(sql: Sql, orgId: string): Promise<boolean> {
  const { count } = await sql`
    update subscriptions
    set lapsed = true, grace_due_at = null, updated_at = now()
    where org_id = ${orgId}
      and grace_period_end <= now()
      and not lapsed`;
  return count > 0;
}
