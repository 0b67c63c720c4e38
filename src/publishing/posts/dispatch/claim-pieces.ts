import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { Entry } from '../journal.ts';
import { post } from '../row.ts';
import { braked, labelsOf, waiting } from '../state.ts';
import { snapshot } from './attempt-row.ts';

// The pieces of every statement that claims: one that settles claims the next post of its channel by the same words.

/** The earliest due post of the channel `c`, which is locked, that no brake stands on. */
export const earliestDue = (sql: Sql): Fragment => sql`
          select p.id, p.root_post_id
          from posts p
          where (c.resting_until is null or c.resting_until <= now())
            and p.org_id = c.org_id
            and p.channel_id = c.id
            and ${waiting(sql)}
            and p.due_at <= now()
            and p.publish_date <= now()
            and not ${braked(sql, labelsOf(sql))}
          order by p.publish_date, p.seq
          limit 1
          for no key update`;

/** When no host was heard for so long, what was due meanwhile is judged before anything is claimed (S126). */
const SILENT_MS = 60_000;

/**
 * This host has been heard, as far as its row says: after a long silence nothing is claimed before its next heartbeat,
 * and what was due meanwhile is judged before that one.
 */
export const hostIsHeard = (sql: Sql, incarnation: string): Fragment => sql`
          not exists (
            select
            from actor_hosts h
            where h.incarnation = ${incarnation}
              and h.last_heartbeat < now() - ${SILENT_MS}::float8 * interval '1 ms'
          )`;

/** Claims the posts `picked.post_id`; `picked` holds the columns of their channels as well. */
export const claimPicked = (sql: Sql, incarnation: string): Fragment => sql`
        update posts p
        set detail = 'publishing', attempt = p.attempt + 1, incarnation = ${incarnation}, claimed_at = now(),
          request_sent_at = null, look_ups = 0, look_up_at = null, updated_at = now()
        from picked c
        where p.id = c.post_id
        returning p.id, p.org_id, p.channel_id, p.root_post_id, p.due_at, ${post.names(sql, 'claim', 'p')},
          ${snapshot(sql)} as channel`;

/** The entry of the timeline for what was claimed. */
export const claimedEntry = (sql: Sql): Entry => ({
  from: sql`claimed`,
  kind: sql`'claimed'`,
  message: sql`'Taken for publishing'`,
  data: sql`jsonb_build_object('attempt', attempt)`,
});
