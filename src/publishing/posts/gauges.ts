import type { Sql } from '../../platform/db/index.ts';
import { unsettled } from './state.ts';

/**
 * What the reminders of posts stand for, counted from the rows that carry them: channels that wait for a due time
 * within the horizon and posts whose network is asked again; those of them that were due 5 s ago; and how many channels
 * each host is publishing for, by its incarnation.
 */
export async function workOfPosts(
  sql: Sql,
  horizonMs: number,
): Promise<{ pending: number; overdue: number; underWay: Record<string, number> }> {
  const [[channels], [questions], held] = await Promise.all([
    sql<{ pending: number; overdue: number }[]>`/* all orgs */
      select count(*)::int as pending, (count(*) filter (where next_due_at < now() - interval '5 s'))::int as overdue
      from channels
      where next_due_at is not null
        and slot_incarnation is null
        and not disabled
        and not refresh_needed
        and deleted_at is null
        and next_due_at <= now() + ${horizonMs}::float8 * interval '1 ms'`,
    sql<{ pending: number; overdue: number }[]>`/* all orgs */
      select count(*)::int as pending, (count(*) filter (where p.look_up_at < now() - interval '5 s'))::int as overdue
      from posts p
      where ${unsettled(sql)}
        and p.look_up_at is not null`,
    sql<{ incarnation: string; n: number }[]>`/* all orgs */
      select slot_incarnation as incarnation, count(*)::int as n
      from channels
      where slot_incarnation is not null
      group by 1`,
  ]);
  return {
    pending: channels!.pending + questions!.pending,
    overdue: channels!.overdue + questions!.overdue,
    underWay: Object.fromEntries(held.map(({ incarnation, n }) => [incarnation, n])),
  };
}

/** Deletes at most `limit` minutes of lateness that are too old for any figure; each host keeps only its own tidy. */
export async function dropOldLateness(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from lateness
    where ctid = any(array(
      select ctid
      from lateness
      where minute < now() - interval '2 hours'
      order by minute
      limit ${limit}
    ))`;
  return count;
}
