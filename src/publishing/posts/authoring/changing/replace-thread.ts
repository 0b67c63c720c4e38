import type { Sql } from '../../../../platform/db/index.ts';
import { insertTimeline, moment } from '../../journal.ts';
import { PARENT_FAILED, post } from '../../row.ts';
import { undecided } from '../../state.ts';
import type { PostChange } from '../input.ts';
import type { Target } from '../thread.ts';

/**
 * Puts other items behind a root. One that keeps its id keeps what people and the timeline say of it, and counts its
 * versions on. In the transaction of the edit, which holds the locks.
 */
export async function replaceThread(
  sql: Sql,
  { orgId, postId }: Target,
  items: NonNullable<PostChange['thread']>,
): Promise<void> {
  if (items.length > 0) await putItems(sql, { orgId, postId }, items);
  // behind that: an item goes with the one that it follows
  await sql`
    delete from posts
    where org_id = ${orgId}
      and root_post_id = ${postId}
      and state <> 'PUBLISHED'
      and id <> all(${items.map(({ id }) => id)}::uuid[])`;
}

const putItems = (sql: Sql, { orgId, postId }: Target, items: NonNullable<PostChange['thread']>) => {
  const rows = items.map((item, n) => ({ ...item, n, parentPostId: items[n - 1]?.id ?? postId }));
  return sql`
    with put as (
      insert into posts as p (
        ${post.names(sql, 'item')}, org_id, channel_id, group_id, root_post_id, state, detail, on_brake, content_clean,
        settings, publish_date, tag_ids, creation_method, created_by, error_kind, error
      )
      select ${post.values(sql, 'item', 'i')}, r.org_id, r.channel_id, r.group_id, r.id, r.state,
        case when r.detail = 'retrying' then 'scheduled' when not ${undecided(sql, 'r')} then r.detail end,
        r.on_brake, true, r.settings, r.publish_date, r.tag_ids, r.creation_method, r.created_by,
        case r.state when 'ERROR' then r.error_kind end, case r.state when 'ERROR' then ${PARENT_FAILED} end
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (n int, ${post.record(sql, 'item')}), posts r
      where r.org_id = ${orgId}
        and r.id = ${postId}
      order by i.n
      on conflict (id) do update
      set parent_post_id = excluded.parent_post_id, content = excluded.content, media = excluded.media,
        delay_minutes = excluded.delay_minutes, group_id = excluded.group_id, state = excluded.state,
        detail = excluded.detail, on_brake = excluded.on_brake, content_clean = true, settings = excluded.settings,
        publish_date = excluded.publish_date, tag_ids = excluded.tag_ids, due_at = null,
        error_kind = excluded.error_kind, error = excluded.error,
        saved = null, preparation = null, prepare_at = null, -- what the network was given for the item as it was
        seq = default, version = p.version + 1, updated_at = now(), deleted_at = null
      where p.org_id = excluded.org_id
        and p.root_post_id = excluded.root_post_id
      returning p.id, p.org_id, p.version, p.publish_date
    ) ${insertTimeline(sql, {
      from: sql`put where version = 1`,
      kind: 'created',
      message: 'Added to its thread',
      data: sql`jsonb_build_object('publishDate', ${moment(sql, sql`publish_date`)})`,
    })}`;
};
