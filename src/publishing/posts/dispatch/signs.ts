import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { AHEAD_MS, HEARTBEAT_TIMEOUT_MS, LATE_ROOT_MS, LEAST_AHEAD_MS } from '../rules.ts';
import { overLimit, preparable, preparableBehind, toRepeat, unsettled } from '../state.ts';
import { works } from './recover.ts';

// Scans that find nothing cost most where they are planned. What a scan would find shows at the head of its index, and
// all heads are asked for in one statement. Each sign holds where its scan finds something, and may hold where it does
// not: a scan looks closer.

const ms = (sql: Sql, time: number): Fragment => sql`${time}::float8 * interval '1 ms'`;

/** A slot is past its deadline, or its host is silent. */
const slotIsLost = (sql: Sql): Fragment => sql`exists (
      select
      from channels c
      where c.slot_incarnation is not null
        and (
          c.slot_until < now()
          or not exists (
            select
            from actor_hosts h
            where h.incarnation = c.slot_incarnation
              and h.last_heartbeat > now() - ${ms(sql, HEARTBEAT_TIMEOUT_MS)}
          )
        )
    )`;

const channelIsOverdue = (sql: Sql): Fragment => sql`exists (
      select
      from channels c
      where c.next_due_at is not null
        and c.slot_incarnation is null
        and ${works(sql)}
        and c.next_due_at < now() - ${ms(sql, HEARTBEAT_TIMEOUT_MS)}
    )`;

const channelEnters = (sql: Sql, horizonMs: number): Fragment => sql`exists (
      select
      from channels c
      where c.next_due_at is not null
        and c.reminder_due_at is distinct from c.next_due_at
        and ${works(sql)}
        and c.next_due_at <= now() + ${ms(sql, horizonMs)}
    )`;

const postIsUnasked = (sql: Sql): Fragment => sql`exists (
      select
      from posts p
      where ${unsettled(sql)}
        and p.look_up_at < now() - ${ms(sql, HEARTBEAT_TIMEOUT_MS)}
    )`;

const notBefore = (sql: Sql): Fragment => sql`(p.prepare_at is null or p.prepare_at <= now())`;
/**
 * A post may be prepared, a series may go on, or the plan may have room. Of items with a due time the earliest is asked
 * for: few have one, and the planner, which takes most to have one, would read them all.
 */
const workIsPending = (sql: Sql): Fragment => sql`(
      exists (
        select
        from posts p
        where ${preparable(sql)}
          and p.publish_date <= now() + ${ms(sql, AHEAD_MS)}
          and p.publish_date > now() + ${ms(sql, LEAST_AHEAD_MS)}
          and ${notBefore(sql)}
      )
      or exists (
        select
        from posts p
        where ${preparableBehind(sql)}
          and p.due_at is null
          and p.publish_date <= now() + ${ms(sql, AHEAD_MS)}
          and p.publish_date > now() - ${ms(sql, LATE_ROOT_MS)}
          and ${notBefore(sql)}
      )
      or (
        select p.due_at
        from posts p
        where ${preparableBehind(sql)}
          and p.due_at > now() + ${ms(sql, LEAST_AHEAD_MS)}
          and ${notBefore(sql)}
        order by p.due_at
        limit 1
      ) is not null
      or exists (select from posts p where ${toRepeat(sql)})
      or exists (select from posts p where ${overLimit(sql)} and p.look_up_at < now())
    )`;

/** A condition for each scan of the reconciler: where it does not hold, the scan finds nothing. */
export const signsOfWork = (sql: Sql, horizonMs: number) => ({
  takeOver: slotIsLost(sql),
  overdue: channelIsOverdue(sql),
  enter: channelEnters(sql, horizonMs),
  unasked: postIsUnasked(sql),
  pending: workIsPending(sql),
});
