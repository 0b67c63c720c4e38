import type { PostQuota } from '../../../../entitlements/index.ts';
import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { busy } from '../../../../platform/kernel/index.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import { consentOfRelease, holds, writeConsent } from '../../approval/consent.ts';
import type { PostsDeps } from '../../deps.ts';
import { failedFact, pausedFact, pauseMessage, pauseReason, queuedFact, timeline, withChannel } from '../../journal.ts';
import { followingDate } from '../../recurrence.ts';
import { PARENT_FAILED, post, type ReadColumns } from '../../row.ts';
import { PAST_MS } from '../../rules.ts';
import { braked, labelsOf, orgIsDisabled, overLimit, queuedDetail } from '../../state.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  lockedThread,
  outdated,
  runChange,
  runSeeing,
  type Target,
} from '../thread.ts';
import { looksForRoomLater } from './room.ts';

// Posts of a series that the plan has no room for: they are there and wait, counted by nobody, until there is room.

const RETRY_MS = 500;

type Dates = Pick<ReadColumns, 'recurrence' | 'publishDate'>;

/**
 * A post that waits for room in the plan of an organization in use, and the version that says so. `date`: that it would have now; undefined when
 * it is over. `asker`: who asks for its approval, where it needs one.
 */
async function findOverLimit(sql: Sql, orgId: string, postId: string) {
  const [row] = await sql<(Dates & { version: number; asker: string | null; now: Date })[]>`
    select p.recurrence, p.publish_date as "publishDate", p.version, coalesce(p.approval_by, p.created_by) as asker,
      now() as now
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and ${overLimit(sql)}
      and not ${orgIsDisabled(sql)}`;
  return row && { date: dateNow(row, row.now), version: row.version, asker: row.asker };
}

/** A date that is long gone is not made up for: the series goes on with the next one. Undefined: there is none. */
function dateNow({ recurrence, publishDate }: Dates, now: Date) {
  if (now.getTime() - publishDate.getTime() < PAST_MS) return { at: publishDate, recurrence, skipped: [] };
  const following = recurrence && followingDate(recurrence, publishDate, now, PAST_MS);
  return following && { ...following, skipped: [publishDate, ...following.skipped] };
}

/**
 * Lets a post go on that waited for room, or holds it where it needs approval: it counts from now on. `quota`: what the
 * plan leaves room for; without one everything has room. False: there is no room, or the post no longer waits for it. One
 * whose date and series are over is missed.
 */
export async function releaseOverLimit(
  deps: PostsDeps,
  orgId: string,
  postId: string,
  quota: (PostQuota & { used: number }) | undefined,
): Promise<boolean> {
  const found = await findOverLimit(deps.sql, orgId, postId);
  if (!found) return false;
  const { date, version, asker } = found;
  if (!date) {
    await runChange(deps, (sql) => runSeeing(() => giveUp(sql, { orgId, postId }, version, deps.options.horizonMs)));
    return false;
  }
  if (quota && quota.used >= quota.max) {
    await defer(deps.sql, orgId, postId);
    return false;
  }
  const released = await runChange(deps, async (sql) => {
    if (quota && !(await countOne(sql, orgId, quota))) throw busy(RETRY_MS); // the rows say something else by now
    const seen = await runSeeing(() => release(sql, { orgId, postId }, { ...date, version }, deps.options.horizonMs));
    if (seen?.verdict !== 'done') throw busy(RETRY_MS); // nothing is counted for it
    await writeConsent(sql, { orgId, postId }, seen.consent, asker === null ? undefined : { userId: asker });
    return seen;
  });
  return released?.verdict === 'done';
}

const defer = (sql: Sql, orgId: string, postId: string) => sql`
    update posts p
    set ${looksForRoomLater(sql)}
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and ${overLimit(sql)}`;

const countOne = async (sql: Sql, orgId: string, quota: PostQuota): Promise<boolean> => {
  const { count } = await sql`
    update org_counters
    set posts = posts + 1
    where org_id = ${orgId}
      and month_anchor = ${quota.anchor}
      and month_start = ${quota.monthStart}
      and now() < ${quota.until}
      and posts < ${quota.max}::bigint -- a limit by hand may be any number
      and entitlement_version::text = ${quota.entitlementVersion}`;
  return count > 0;
};

/** The CTEs that lock a post which waits for room, and say whether it still is what this version says. */
const stillWaits = (sql: Sql, target: Target, version: number, also: Fragment = sql``): Fragment => sql`
    ${lockedThread(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when not ${overLimit(sql, 't')} then 'not_failed'
        when t.version <> ${version} then 'stale' -- its date or how it recurs may be another one by now
        else 'done'
      end as verdict${also}
      from (select 1) one
      left join thread t on t.is_target
    )`;

const NO_ROOM = 'The plan had no room for this post until the dates of its series were over';

/** A post that nobody can let go on any more, with its thread. It was never counted, so it is not sent again. */
const giveUp = (sql: Sql, target: Target, version: number, horizonMs: number) => sql<FoundThread[]>`
    with ${stillWaits(sql, target, version)}, changed as (
      update posts p
      set state = 'ERROR', detail = 'missed',
        error_kind = case when b.is_target then 'billing_required' else 'missed' end,
        error = case when b.is_target then ${NO_ROOM} else ${PARENT_FAILED} end,
        due_at = null, look_up_at = null, updated_at = now()
      from thread b, verdict v
      where v.verdict = 'done'
        and p.id = b.id
        and p.org_id = ${target.orgId}
      returning ${post.names(sql, 'fact', 'p')}
    ), ${channelsUpdated(sql, target.orgId, horizonMs)}, ${timeline(sql, {
      from: sql`changed`,
      kind: 'failed',
      message: sql`error`,
    })}, ${announce(sql, {
      'post.failed': {
        from: withChannel(sql, sql`(select * from changed where root_post_id is null)`, sql`channel`),
        payload: { ...failedFact(sql), detail: sql`detail`, attempts: sql`attempt`, retryable: sql`false` },
      },
    })}
    ${answer(sql, target)}`;

const release = (
  sql: Sql,
  target: Target,
  { at, recurrence, skipped, version }: NonNullable<ReturnType<typeof dateNow>> & { version: number },
  horizonMs: number,
) => {
  const of = (where: Fragment) =>
    withChannel(sql, sql`(select * from changed where root_post_id is null and ${where})`, sql`channel`);
  return sql<FoundThread[]>`
    with ${stillWaits(sql, target, version, sql`, ${consentOfRelease(sql, target.orgId)} as consent`)}, changed as (
      update posts p
      set publish_date = ${at},
        recurrence = case when b.is_target then nullif(${JSON.stringify(recurrence)}::text::jsonb, 'null') end,
        state = case when ${holds(sql)} then 'DRAFT' else p.state end,
        detail = case
          when ${holds(sql)} then 'awaiting_approval'
          when b.is_target then ${queuedDetail(sql, labelsOf(sql))}
          else 'scheduled' end, -- what holds it is looked at when the item ahead of it is out
        on_brake = not ${holds(sql)} and b.is_target and ${braked(sql, labelsOf(sql))},
        due_at = case when b.is_target and not ${holds(sql)} then greatest(${at}, now()) end,
        error_kind = null, error = null, look_up_at = null,
        created_at = now(), -- it counts in the billing month of today
        updated_at = now()
      from thread b, channel c, verdict v
      where v.verdict = 'done'
        and p.id = b.id
        and p.org_id = ${target.orgId}
      returning ${post.names(sql, 'fact', 'p')}, p.on_brake, b.publish_date as date_before
    ), ${channelsUpdated(sql, target.orgId, horizonMs)}, ${timeline(sql, {
      from: sql`changed where root_post_id is null`,
      kind: sql`case detail when 'paused' then 'paused' else 'resumed' end`,
      message: sql`case detail when 'paused' then ${pauseMessage(sql)} else 'The plan has room for this post' end`,
      data: sql`${JSON.stringify({ publishDate: at, skipped })}::text::jsonb`,
    })}, ${announce(sql, {
      'post.scheduled': {
        from: of(sql`state = 'QUEUE' and publish_date <> date_before`),
        payload: queuedFact(sql),
      },
      'post.resumed': {
        from: of(sql`detail = 'scheduled'`),
        payload: pausedFact(sql, sql`'billing'`),
      },
      'post.paused': { from: of(sql`detail = 'paused'`), payload: pausedFact(sql, pauseReason(sql)) },
    })}
    ${answer(sql, target, sql`, v.consent`)}`;
};
