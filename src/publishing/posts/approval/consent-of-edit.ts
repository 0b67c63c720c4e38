import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { PostChange } from '../authoring/input.ts';
import { post } from '../row.ts';
import { overLimit } from '../state.ts';
import { approvalSetting, asksWhenRoom, isHeld } from './consent.ts';

/** `items`: what follows the first one, where that is replaced. */
type Change = Pick<PostChange, 'status' | 'by'> & { items: PostChange['thread'] };

/** Whether these items are others than those behind the first one `r`, whose settings they get. */
const areOthers = (sql: Sql, items: NonNullable<Change['items']>): Fragment => sql`(
          select jsonb_agg(jsonb_build_array(b.content, b.media, b.delay_minutes, b.settings) order by b.seq)
          from thread b
          where b.root_post_id is not null
        ) is distinct from (
          select jsonb_agg(jsonb_build_array(i.content, i.media, i."delayMinutes", r.settings) order by i.n)
          from json_to_recordset(${JSON.stringify(items.map((item, n) => ({ ...post.pick('item', item), n })))}::text::json)
            as i (n int, ${post.record(sql, 'item')})
        )`;

/**
 * What an edit `e` means for the consent to its thread; `t` is the post, `r` the first item, `settingsChange` whether
 * settings become others. A consent ends with what it was to; what somebody may not queue unasked is held where it is,
 * or would be, queued.
 */
export function consentOfEdit(
  sql: Sql,
  orgId: string,
  { status, items, by }: Change,
  settingsChange: Fragment,
): Fragment {
  const changes = sql`(
          ${items === undefined ? sql`false` : areOthers(sql, items)}
          or e.given ? 'content' and e.content is distinct from t.content
          or e.given ? 'media' and e.media is distinct from t.media
          or ${settingsChange}
        )`;
  const queued = sql`(
          ${status === 'schedule'}
          or ${status === undefined} and exists (select from thread where state = 'QUEUE')
        )`;
  return sql`case
        when r.approval_state = 'awaiting' then case
          when not ${overLimit(sql, 'r')} then ${status === 'draft' ? 'withdrawn' : 'kept'}
          end
        when r.approval_state = 'rejected' then case when ${status === 'schedule'} then 'asked' end
        when r.approval_state = 'approved' then case
          when not ${changes} then null
          when ${queued} then ${asksWhenRoom(sql)}
          else 'void' end
        when ${queued}
          -- of a root that is out only an item that is left paused is scheduled, which was queued already
          and (${changes} or ${status === 'schedule'} and r.state not in ('QUEUE', 'PUBLISHED'))
          and ${isHeld(sql, approvalSetting(sql, orgId), by?.schedulesFreely ?? false)} then ${asksWhenRoom(sql)}
      end`;
}
