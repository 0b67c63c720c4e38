import type { Sql } from '../../../platform/db/index.ts';
import { overLimit, toRepeat } from '../state.ts';

/** A post of a series: `repeat`: its successor is to be made, `release`: the plan may have room for it by now. */
export interface SeriesWork {
  work: 'repeat' | 'release';
  orgId: string;
  postId: string;
}

/** Posts that their series goes on from, and posts that wait for room, in channels that can be posted to. */
export const findSeriesWork = (sql: Sql, limit: number): Promise<SeriesWork[]> => sql<SeriesWork[]>`
  /* all orgs */
  (
    select 'repeat' as work, p.org_id as "orgId", p.id as "postId"
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
    select 'release', p.org_id, p.id
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where ${overLimit(sql)}
      and p.look_up_at < now()
      and not c.disabled
      and c.deleted_at is null
    order by p.look_up_at
    limit ${limit}
  )`;
