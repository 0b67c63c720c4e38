import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { PARENT_FAILED, post } from '../row.ts';
import {
  awaitsApproval,
  behindAnother,
  braked,
  dueAfterParent,
  labelsOf,
  orgIsDisabled,
  queuedDetail,
} from '../state.ts';

// What the end of an attempt means for the items behind its post, in the statement of `settleOf`.

/** The items of a thread that wait for one that is published have their time; `is_paused`: and wait from now on. */
export const openNextItems = (sql: Sql): Fragment => sql`
        update posts p
        set due_at = ${dueAfterParent(sql)}, updated_at = now(),
          detail = case when b.is_paused then 'paused' else p.detail end,
          on_brake = p.on_brake or b.is_paused and ${braked(sql, labelsOf(sql))}
        from settled s
        join channel c on c.id = s.channel_id
        cross join lateral (
          select p.id, d.disabled,
            p.detail <> 'paused' and (d.disabled or ${queuedDetail(sql, labelsOf(sql))} = 'paused') as is_paused
          from posts p
          cross join lateral (select ${orgIsDisabled(sql)} as disabled) d
          where p.parent_post_id = s.id
            and p.org_id = s.org_id
            and ${behindAnother(sql)}
        ) b
        where s.state = 'PUBLISHED'
          and p.id = b.id
          and p.org_id = s.org_id
        returning ${post.names(sql, 'fact', 'p')}, p.on_brake, b.is_paused, b.disabled`;

/**
 * The items behind one that has failed are given up with it, those that wait for approval as well: nothing would follow
 * it.
 */
export const abandonLaterItems = (sql: Sql): Fragment => sql`
        update posts p
        set state = 'ERROR', detail = null, error_kind = s.error_kind, error = ${PARENT_FAILED}, updated_at = now()
        from settled s
        where s.state = 'ERROR'
          and p.root_post_id = coalesce(s.root_post_id, s.id)
          and p.org_id = s.org_id
          and p.seq > s.seq
          and (p.state = 'QUEUE' or ${awaitsApproval(sql)})
          and p.deleted_at is null
        returning p.id, p.org_id`;
