import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { ready } from '../state.ts';
import { earliestDue, hostIsHeard } from './claim-pieces.ts';
import type { SettleOptions } from './settlement.ts';

// What the ends of attempts leave to the slots of their channels, in the statement of `settleOf`.

/**
 * What the attempts of a channel leave to it; `n` and `thread` are of the one whose slot goes on: a slot has one post.
 * Made from all channels, whose number the planner knows: of an update it expects one row, and would join what many
 * attempts left by nested loops, in the square of their number.
 */
export const byChannel = (sql: Sql): Fragment => sql`
        select c.id as channel_id,
          array_agg(s.id) filter (where s.slot = 'free') as freed,
          array_agg(s.id) filter (where s.slot = 'hold') as held,
          min(s.due_at) filter (where ${ready(sql, 's')}) as due_at,
          max(s.due_at) filter (where s.rests) as rests_until,
          min(s.n) filter (where s.goes_on) as n,
          (array_agg(coalesce(s.root_post_id, s.id)) filter (where s.goes_on))[1] as thread
        from channel c
        left join settled s on s.channel_id = c.id
        group by c.id
        having count(s.id) > 0`;

/** Each channel with what its attempts leave, and `post_id`: the next post, of another thread, where its slot goes on. */
export const pickNext = (sql: Sql, incarnation: string): Fragment => sql`
        select c.*, e.freed, e.held, e.due_at, e.rests_until, e.n, q.id as post_id
        from ended e
        join channel c on c.id = e.channel_id
        left join lateral (
          select q.id
          from (${earliestDue(sql)}
          ) q
          where e.n is not null
            and e.rests_until is null
            and ${hostIsHeard(sql, incarnation)}
            and e.channel_id not in (select channel_id from opened)
            and q.root_post_id is distinct from e.thread
        ) q on true`;

/** Frees slots, keeps them for unconfirmed posts, or hands them on to what was claimed. */
export const moveSlots = (
  sql: Sql,
  { incarnation, leaseMs, unconfirmedMs }: Pick<SettleOptions, 'incarnation' | 'leaseMs' | 'unconfirmedMs'>,
): Fragment => sql`
        update channels c
        set slot_incarnation = case
            when k.post_id is not null then ${incarnation}
            when c.slot_post_id = any(k.freed) then null
            else c.slot_incarnation
          end,
          slot_until = case
            when k.post_id is not null then now() + ${leaseMs}::float8 * interval '1 ms'
            when c.slot_post_id = any(k.freed) then null
            when c.slot_post_id = any(k.held) then now() + ${unconfirmedMs}::float8 * interval '1 ms'
            else c.slot_until
          end,
          slot_post_id = case
            when k.post_id is not null then k.post_id
            when c.slot_post_id = any(k.freed) then null
            else c.slot_post_id
          end,
          resting_until = coalesce(k.rests_until, c.resting_until),
          next_due_at = greatest(k.rests_until, least(
            c.next_due_at,
            k.due_at,
            (select min(o.due_at) from opened o where o.channel_id = c.id and o.detail = 'scheduled')
          )),
          due_version = c.due_version + 1
        from picked k
        where c.id = k.id`;
