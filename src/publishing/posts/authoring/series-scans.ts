import { dealt, type Fragment, type Sql } from '../../../platform/db/index.ts';
import { orgIsDisabled, overLimit, toRepeat } from '../state.ts';

/**
 * Selects posts that their series goes on from (`repeat`), and posts that the plan may have room for by now
 * (`release`), in channels that can be posted to, of organizations that are not disabled; for a scan over all of them,
 * dealt over them: what cannot be done of one stays, and comes first again.
 */
export function seriesWork(sql: Sql, limit: number): Fragment {
  const waiting = (condition: Fragment, at: Fragment) => sql`
        select p.org_id as "orgId", p.id as "postId", ${at} as at
        from posts p
        join channels c on c.id = p.channel_id and c.org_id = p.org_id
        where ${condition}
          and not c.disabled
          and c.deleted_at is null
          and not ${orgIsDisabled(sql)}`;
  return sql`
  select 'repeat' as work, "orgId", "postId", now() as now
  from ${dealt(sql, waiting(toRepeat(sql), sql`p.publish_date`), limit)} to_repeat
  union all
  select 'release', "orgId", "postId", now()
  from ${dealt(sql, waiting(sql`${overLimit(sql)} and p.look_up_at < now()`, sql`p.look_up_at`), limit)} over_limit`;
}
