import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { PostChange } from '../authoring/input.ts';
import type { Existing } from '../authoring/named.ts';
import { type PostMedia, post } from '../row.ts';
import { overLimit, toRepeat } from '../state.ts';
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
 * or would be, queued, and where the next post of its series will be.
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
          or ${status === undefined} and (exists (select from thread where state = 'QUEUE') or ${toRepeat(sql, 'r')})
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

/** An edit of a whole thread, by its number, before anything is locked. */
export interface PlannedEdit {
  n: number;
  root: Pick<Existing, 'id' | 'state' | 'approvalState'>;
  status: PostChange['status'];
  /** Its author may not queue posts unasked. */
  isHeld: boolean;
  items: readonly { content: string; media: readonly PostMedia[]; delayMinutes: number }[];
  settings: Readonly<Record<string, unknown>>;
}

/** Tells whether the thread waits for approval after the edit, as `consentOfEdit` has it under the locks. */
function waitsAfter({ root, status, isHeld: held }: PlannedEdit, isChange: boolean): boolean {
  const { state, approvalState } = root;
  const isQueued = status === 'schedule' || (status === undefined && state === 'QUEUE');
  if (approvalState === 'awaiting') return status !== 'draft';
  if (approvalState === 'rejected') return status === 'schedule';
  if (approvalState === 'approved') return isQueued && isChange;
  return isQueued && held && (isChange || state !== 'QUEUE');
}

/** Numbers of the edits after which their threads wait for approval; one statement where their contents decide. */
export async function findHeldEdits(
  sql: Sql,
  orgId: string,
  edits: readonly PlannedEdit[],
): Promise<ReadonlySet<number>> {
  const depend = edits.filter((edit) => waitsAfter(edit, true) !== waitsAfter(edit, false));
  const changes = new Set(depend.length === 0 ? [] : await findChanges(sql, orgId, depend));
  return new Set(edits.filter((edit) => waitsAfter(edit, changes.has(edit.n))).map(({ n }) => n));
}

/** Numbers of the edits by which their threads become others; a first item keeps its delay. */
async function findChanges(sql: Sql, orgId: string, edits: readonly PlannedEdit[]): Promise<number[]> {
  const rows = edits.map(({ n, root, items, settings }) => ({
    n,
    id: root.id,
    items: items.map(({ content, media, delayMinutes }, at) => [
      content,
      media,
      settings,
      at === 0 ? null : delayMinutes,
    ]),
  }));
  const changed = await sql<{ n: number }[]>`
    select e.n
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as e (n int, id uuid, items jsonb)
    where e.items is distinct from (
      select jsonb_agg(
        jsonb_build_array(b.content, b.media, b.settings, case when b.root_post_id is not null then b.delay_minutes end)
        order by b.seq
      )
      from posts b
      where b.org_id = ${orgId}
        and (b.id = e.id or b.root_post_id = e.id)
        and b.deleted_at is null
    )`;
  return changed.map(({ n }) => n);
}
