import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { PostChange } from '../authoring/input.ts';
import { overLimit } from '../state.ts';
import { approvalSetting, asksWhenRoom, isHeld } from './consent.ts';

/** `items`: how many follow the first one, where they are replaced. */
type Change = Pick<PostChange, 'status' | 'settings' | 'by'> & { items: number | undefined };

/**
 * What an edit `e` means for the consent to its thread; `t` is the post, `r` the first item. A consent ends with what it
 * was to; what somebody may not queue unasked is held where it is, or would be, queued.
 */
export function consentOfEdit(
  sql: Sql,
  orgId: string,
  { status, settings, items, by }: Change,
  settingsAfter: Fragment,
): Fragment {
  const hasOthers =
    items === undefined
      ? sql`false`
      : sql`(${items > 0} or exists (select from thread where root_post_id is not null))`;
  const changes = sql`(
          ${hasOthers}
          or e.given ? 'content' and e.content is distinct from t.content
          or e.given ? 'media' and e.media is distinct from t.media
          or ${settings !== undefined} and ${settingsAfter} is distinct from t.settings
        )`;
  const queued = sql`(
          ${status === 'schedule'}
          or ${status === undefined} and exists (select from thread where state = 'QUEUE')
        )`;
  return sql`case
        when r.approval_state = 'awaiting' then case when not ${overLimit(sql, 'r')} then ${status === 'draft' ? 'withdrawn' : 'kept'} end
        when r.approval_state = 'rejected' then case when ${status === 'schedule'} then 'asked' end
        when r.approval_state = 'approved' then case
          when not ${changes} then null
          when ${queued} then ${asksWhenRoom(sql)}
          else 'void' end
        when ${queued}
          and (${changes} or ${status === 'schedule'} and r.state <> 'QUEUE')
          and ${isHeld(sql, approvalSetting(sql, orgId), by?.schedulesFreely ?? false)} then ${asksWhenRoom(sql)}
      end`;
}
