import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { hashOfThread } from '../approval/consent.ts';
import { post, type ReadColumns } from '../row.ts';

/** A post as the presenters take it: its row, its channel and its tags. */
export interface PostRow extends ReadColumns {
  channelName: string;
  providerId: string;
  picture: string | null;
  /** Of what was approved or rejected, or of what waits for it. */
  contentHash: string | null;
  tags: { id: string; name: string; color: string }[];
  /** Of a date of a series: that of the post which waits, and stands for it. */
  actualDate?: Date;
}

/** The columns of a `PostRow`, from `posts p` and `channels c`. */
export const postColumns = (sql: Sql): Fragment => sql`
    ${post.select(sql, 'read', 'p')}, c.name as "channelName", c.provider_id as "providerId", c.picture,
    case p.approval_state when 'awaiting' then ${hashOfThread(sql)} else p.approval_hash end as "contentHash",
    case when p.tag_ids = '{}' then '[]'::json else coalesce((
      select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name))
      from tags t
      where t.org_id = p.org_id
        and t.id = any(p.tag_ids)
    ), '[]') end as tags`;

/** The words of clients for the states of a post. */
export const STATES = { scheduled: 'QUEUE', draft: 'DRAFT', published: 'PUBLISHED', error: 'ERROR' } as const;
