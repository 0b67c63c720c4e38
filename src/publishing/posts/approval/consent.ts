import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import type { PostAuthor } from '../authoring/input.ts';
import type { ConsentChange, Target } from '../authoring/thread.ts';
import { decidedFact, timeline, withChannel } from '../journal.ts';
import { post } from '../row.ts';
import { inFlight, overLimit, toRepeat } from '../state.ts';

// A consent is to what a thread says and where, not to its date: it stands on the first item, and whatever changes the
// thread ends it in the same commit.

/** What a consent is to, over the items `rows` of a thread; jsonb writes equal values in one way. */
export const contentHash = (sql: Sql, rows: Fragment): Fragment => sql`(
      select encode(sha256(convert_to(jsonb_agg(
        jsonb_build_array(q.channel_id, q.content, q.media, q.settings, q.delay_minutes) order by q.seq
      )::text, 'UTF8')), 'hex')
      from ${rows} q
    )`;

/** The same of the thread of `posts p`, a first item. */
export const hashOfThread = (sql: Sql): Fragment =>
  contentHash(
    sql,
    sql`(
        select t.channel_id, t.content, t.media, t.settings, t.delay_minutes, t.seq
        from posts t
        where t.org_id = p.org_id
          and (t.id = p.id or t.root_post_id = p.id)
          and t.deleted_at is null
      )`,
  );

/** Whose posts an organization holds: `members`, `all`, or nobody's. */
export const approvalSetting = (sql: Sql, orgId: string | Fragment): Fragment =>
  sql`(select o.settings ->> 'approvalRequired' from organizations o where o.id = ${orgId})`;

/** Whether what somebody queues has to be approved, by the setting `required`. */
export const isHeld = (sql: Sql, required: Fragment, schedulesFreely: boolean | Fragment): Fragment =>
  sql`coalesce(${required} = 'all' or ${required} = 'members' and not ${schedulesFreely}, false)`;

/** Whether posts that were to be queued are held; `v` is the verdict. */
export const holds = (sql: Sql): Fragment => sql`(coalesce(v.consent, '') in ('asked', 'kept'))`;

/**
 * What queueing failed items again means for the consent to their thread; `r` is its first item. What was approved goes
 * out as it was approved.
 */
export const consentOfRequeue = (sql: Sql, orgId: string, by: PostAuthor | undefined): Fragment => sql`
      case
        when r.approval_state = 'approved' then null
        when r.approval_state = 'awaiting' then 'kept'
        when r.approval_state = 'rejected'
          or ${isHeld(sql, approvalSetting(sql, orgId), by?.schedulesFreely ?? false)} then 'asked'
      end`;

/** A post that waits for room in the plan is held when there is some: until then nobody can let it go on. */
export const asksWhenRoom = (sql: Sql): Fragment =>
  sql`(case when ${overLimit(sql, 'r')} then 'later' else 'asked' end)`;

/** What room in the plan means for the consent to the thread `t` that waited for it. */
export const consentOfRelease = (sql: Sql, orgId: string): Fragment => sql`
      case
        when t.approval_state = 'approved' then null
        -- what was queued unasked goes on so, unless everybody's posts are held, or a change of it was to be approved
        when t.approval_state = 'awaiting' or ${isHeld(sql, approvalSetting(sql, orgId), true)} then 'asked'
      end`;

/** What the deletion of the items `deleted` means for the consent to the rest of their thread; `r` is its first item. */
export const consentOfRemoval = (sql: Sql, orgId: string, by: PostAuthor | undefined): Fragment => sql`case
        when exists (select from deleted where id = r.id) or r.approval_state in ('awaiting', 'rejected') then null
        when exists (select from thread b where b.state = 'QUEUE' and b.id not in (select id from deleted))
          or ${toRepeat(sql, 'r')} then case
          when r.approval_state = 'approved'
            or ${isHeld(sql, approvalSetting(sql, orgId), by?.schedulesFreely ?? false)} then ${asksWhenRoom(sql)} end
        when r.approval_state = 'approved' then 'void'
      end`;

/** Takes what waits of a thread out of the queue until it is approved, in a transaction that holds its locks. */
export const holdThread = (sql: Sql, { orgId, postId }: Target) => sql`
    update posts p
    set state = 'DRAFT', detail = 'awaiting_approval', due_at = null, on_brake = false, version = p.version + 1,
      updated_at = now()
    from posts t
    where t.org_id = ${orgId}
      and t.id = ${postId}
      and p.org_id = ${orgId}
      and (p.id = t.root_post_id or p.root_post_id = t.root_post_id)
      and p.state = 'QUEUE'
      and p.deleted_at is null
      and not ${inFlight(sql)}`;

const ENTRIES = {
  asked: { kind: 'approval_requested', message: 'Waits for approval' },
  later: { kind: 'edited', message: 'Has to be approved when the plan has room for it' },
  withdrawn: { kind: 'edited', message: 'Taken back before it was approved' },
  void: { kind: 'edited', message: 'What was approved has changed' },
} as const;

/** Writes the consent to a thread after a change of it, in the transaction of the change, which holds the locks. */
export async function writeConsent(
  sql: Sql,
  { orgId, postId }: Target,
  change: ConsentChange | null | undefined,
  by: Pick<PostAuthor, 'userId'> | undefined,
): Promise<void> {
  if (!change || change === 'kept') return;
  const isAsked = change === 'asked';
  const isAwaiting = isAsked || change === 'later';
  await sql`
    with told as (
      update posts p
      set approval_state = ${isAwaiting ? 'awaiting' : null}, approval_by = ${isAwaiting ? (by?.userId ?? null) : null},
        approval_at = case when ${isAwaiting} then now() end, approval_hash = null, updated_at = now()
      from posts t
      where t.org_id = ${orgId}
        and t.id = ${postId}
        and p.org_id = ${orgId}
        and p.id = coalesce(t.root_post_id, t.id)
      returning ${post.names(sql, 'fact', 'p')}, p.approval_by
    ), ${timeline(sql, { from: sql`told`, ...ENTRIES[change] })}, ${announce(sql, {
      'post.approval_requested': {
        from: withChannel(sql, sql`(select * from told where ${isAsked})`),
        payload: decidedFact(sql, sql`approval_by`),
      },
    })}
    select from told`;
}
