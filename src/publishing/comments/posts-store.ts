import type { Sql } from '../../platform/db/index.ts';
import type { Published } from '../../providers/registry/index.ts';
import { published } from '../posts/index.ts';

/** Posts of a channel that one sweep looks at: those that were not looked at for longest. */
const MOST_POSTS = 200;

/** A published post, or an item of a thread, as its network knows it, and how far its comments were read. */
export interface ReadPost {
  id: string;
  createdBy: string | null;
  release: Published;
  /** Where the last look ended before the last page. */
  cursor: string | null;
  /** What is found is no news. */
  isSilent: boolean;
}

/**
 * The posts of a channel that are not older than `days`, each with its items where those have comments of their own. The
 * first look at one that is a day old is silent.
 */
export const postsToRead = (
  sql: Sql,
  { orgId, channelId }: { orgId: string; channelId: string },
  { days, withItems }: { days: number; withItems: boolean },
): Promise<ReadPost[]> => sql<ReadPost[]>`
  select i.id, i.created_by as "createdBy", jsonb_strip_nulls(jsonb_build_object('id', i.release_id,
      'url', coalesce(i.release_url, ''), 'saved', i.released)) as release,
    r.cursor, coalesce(r.is_silent, i.published_at < now() - interval '1 day', true) as "isSilent"
  from posts p
  cross join lateral (
    select p.*
    union all
    select q.*
    from posts q
    where ${withItems}
      and q.root_post_id = p.id
      and q.org_id = p.org_id
      and q.state = 'PUBLISHED'
      and q.deleted_at is null
  ) i
  left join comment_reads r on r.post_id = i.id and r.org_id = i.org_id
  where p.org_id = ${orgId}
    and p.channel_id = ${channelId}
    and ${published(sql)}
    and p.published_at > now() - ${days}::int * interval '1 day'
    and i.release_id <> ''
  order by r.read_at nulls first, i.published_at desc
  limit ${MOST_POSTS}`;
