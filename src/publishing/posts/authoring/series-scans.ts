import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { overLimit, toRepeat } from '../state.ts';

/**
 * Selects posts that their series goes on from (`repeat`), and posts that the plan may have room for by now
 * (`release`), in channels that can be posted to; for a scan over all organizations.
 */
export const seriesWork = (sql: Sql, limit: number): Fragment => sql`
  (
    select 'repeat' as work, p.org_id as "orgId", p.id as "postId", now() as now
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where ${toRepeat(sql)}
      and not c.disabled
      and c.deleted_at is null
    order by p.publish_date
    limit ${limit}
  )
  union all
  (
    select 'release', p.org_id, p.id, now()
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where ${overLimit(sql)}
      and p.look_up_at < now()
      and not c.disabled
      and c.deleted_at is null
    order by p.look_up_at
    limit ${limit}
  )`;
