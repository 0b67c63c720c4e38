import type { Sql } from '../../../../platform/db/index.ts';
import { post } from '../../row.ts';
import type { PostChange } from '../input.ts';
import type { Target } from '../thread.ts';

/**
 * Puts other items behind a root; ids of earlier items may come again. In the transaction of the edit, which holds the
 * locks.
 */
export async function replaceThread(
  sql: Sql,
  { orgId, postId }: Target,
  items: NonNullable<PostChange['thread']>,
): Promise<void> {
  await sql`
    delete from posts
    where org_id = ${orgId}
      and root_post_id = ${postId}
      and state <> 'PUBLISHED'`;
  if (items.length === 0) return;
  const rows = items.map((item, n) => ({ ...item, n, parentPostId: items[n - 1]?.id ?? postId }));
  await sql`
    insert into posts (
      ${post.names(sql, 'item')}, org_id, channel_id, group_id, root_post_id, state, detail, on_brake, content_clean,
      settings, publish_date, tag_ids, creation_method, created_by
    )
    select ${post.values(sql, 'item', 'i')}, r.org_id, r.channel_id, r.group_id, r.id, r.state,
      case r.detail when 'retrying' then 'scheduled' else r.detail end, r.on_brake, true,
      r.settings, r.publish_date, r.tag_ids, r.creation_method, r.created_by
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (n int, ${post.record(sql, 'item')}), posts r
    where r.org_id = ${orgId}
      and r.id = ${postId}
    order by i.n`;
}
