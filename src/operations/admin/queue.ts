import type { Sql } from '../../platform/db/index.ts';

/** Roots of threads and single posts, over all orgs. */
export interface QueueCounts {
  /** Due, and not taken yet. */
  due: number;
  /** At the provider at this moment. */
  publishing: number;
  /** The number of due posts that are later than POST_LATE_SECONDS. */
  late: number;
}

/** Counts the queue; only channels with something due are looked at. */
export async function countQueue(sql: Sql, lateSeconds: number): Promise<QueueCounts> {
  const [row] = await sql<QueueCounts[]>`
    /* all orgs */
    with waiting as (
      select p.due_at
      from channels c
      join posts p on p.channel_id = c.id and p.org_id = c.org_id
      where c.next_due_at <= now()
        and not c.disabled
        and not c.refresh_needed
        and c.deleted_at is null
        and p.state = 'QUEUE'
          and p.detail in ('scheduled', 'retrying')
          and p.due_at is not null
          and p.due_at <= now()
          and p.publish_date <= now()
          and p.deleted_at is null
    )
    select count(*)::int as due,
      (count(*) filter (where due_at < now() - ${lateSeconds}::float8 * interval '1 s'))::int as late,
      (select count(*)::int from channels where slot_incarnation is not null) as publishing
    from waiting`;
  return row!;
}
