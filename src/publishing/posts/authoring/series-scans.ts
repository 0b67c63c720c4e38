import type { Sql } from '../../../platform/db/index.ts';
import { overLimit, toRepeat } from '../state.ts';

// What the reconciler looks for in series, over all organizations.

/** Posts that their series goes on from, in channels that can be posted to. */
export const findUnrepeated = (sql: Sql, limit: number): Promise<{ orgId: string; postId: string }[]> => sql<
  { orgId: string; postId: string }[]
>`
  /* all orgs */
  select p.org_id as "orgId", p.id as "postId"
  from posts p
  join channels c on c.id = p.channel_id and c.org_id = p.org_id
  where ${toRepeat(sql)}
    and not c.disabled
    and c.deleted_at is null
  order by p.publish_date
  limit ${limit}`;

/** Posts that have waited for room in the plan since somebody last looked for it. */
export const findOverLimits = (sql: Sql, limit: number): Promise<{ orgId: string; postId: string }[]> => sql<
  { orgId: string; postId: string }[]
>`
  /* all orgs */
  select p.org_id as "orgId", p.id as "postId"
  from posts p
  join channels c on c.id = p.channel_id and c.org_id = p.org_id
  where ${overLimit(sql)}
    and p.look_up_at < now()
    and not c.disabled
    and c.deleted_at is null
  order by p.look_up_at
  limit ${limit}`;
