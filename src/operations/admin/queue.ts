import type { Sql } from '../../platform/db/index.ts';

/** Roots of threads and single posts, over all orgs. */
export interface QueueCounts {
  /** Due, and not taken yet. */
  due: number;
  /** At the provider at this moment. */
  publishing: number;
  /** The number of due posts that are later than POST_LATE_SECONDS. */
  late: number;
  /** Networks that answer nobody: what a version of a provider sends by an origin and a route waits. */
  circuits: OpenCircuit[];
}
export interface OpenCircuit {
  providerId: string;
  providerVersion: string;
  /** Network, origin and route. */
  lane: string;
  openedAt: Date;
  /** From then on a post tries again. */
  probeAt: Date;
}

/** Open circuits that an answer shows. */
const MOST_CIRCUITS = 100;

/** Counts the queue, where only channels with something due are looked at, and names networks that answer nobody. */
export async function countQueue(sql: Sql, lateSeconds: number): Promise<QueueCounts> {
  const circuits = await sql<OpenCircuit[]>`
    /* all orgs */
    select provider_id as "providerId", provider_version as "providerVersion", lane, opened_at as "openedAt",
      probe_at as "probeAt"
    from circuits
    order by opened_at, provider_id, provider_version, lane
    limit ${MOST_CIRCUITS}`;
  const [row] = await sql<Omit<QueueCounts, 'circuits'>[]>`
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
  return { ...row!, circuits };
}
