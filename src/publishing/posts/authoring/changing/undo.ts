import { findReply, type KeyClaim, type Sql } from '../../../../platform/db/index.ts';
import { AppError, notFound } from '../../../../platform/kernel/index.ts';
import { returns } from '../../bulk.ts';
import type { PostsDeps } from '../../deps.ts';
import { timeline } from '../../journal.ts';
import { successorIdOf } from '../../recurrence.ts';
import { post } from '../../row.ts';
import { inFlight, outcomeUnknown } from '../../state.ts';
import { announceDeleted } from './deletion.ts';
import type { UndonePlan } from '../input.ts';
import type { AppliedPlan } from '../plan.ts';
import { findPlan, PLAN_SCOPE } from '../plan-store.ts';

/**
 * Deletes what the application of a plan has created not longer than ten minutes ago (S124), but for threads of which
 * something is out, on its way, or changed since: those are named. Posts that are deleted already are not; what went with
 * its channel comes back with it no more. A series is deleted with what it has gone on with, or kept for its sake.
 * A plan of which something was deleted is not applied again.
 * @throws AppError `not_found`, `conflict` for a plan that was not applied, `link_expired` after ten minutes
 */
export async function undoPlan({ sql }: Pick<PostsDeps, 'sql'>, orgId: string, planId: string): Promise<UndonePlan> {
  const key = { orgId, scope: PLAN_SCOPE, key: planId };
  const reply = await findReply(sql, key);
  if (reply === undefined) {
    if (!(await findPlan(sql, orgId, planId))) throw notFound('Plan not found');
    throw new AppError('conflict', 'The plan was not applied: there is nothing to undo');
  }
  const applied = JSON.parse(reply) as AppliedPlan; // as `beginPlan` wrote it
  const postIds = applied.rows.flatMap((row) => row.postIds ?? row.postId ?? []);
  const [undone] = await removeUnchanged(sql, key, postIds, JSON.stringify({ ...applied, isUndone: true }));
  if (undone!.isLate)
    throw new AppError(
      'link_expired',
      'The posts of a plan can be deleted together for ten minutes: delete them singly',
    );
  return { deleted: undone!.deleted, kept: undone!.kept ?? [] };
}

/** In ten minutes two posts of a series may fail, one of them of the day before: a day has one date of it at most. */
const seriesOf = (postId: string): { id: string; planned: string }[] => {
  const next = successorIdOf(postId);
  return [postId, next, successorIdOf(next)].map((id) => ({ id, planned: postId }));
};

/** Locks channels before posts, both in the order of their ids, as whoever deletes a group does. */
const removeUnchanged = (
  sql: Sql,
  { orgId, scope, key }: Omit<KeyClaim, 'claim'>,
  postIds: readonly string[],
  reply: string,
) => {
  const series = postIds.flatMap(seriesOf);
  const ids = series.map(({ id }) => id);
  return sql<{ isLate: boolean; deleted: number; kept: UndonePlan['kept'] | null }[]>`
    with series as materialized (
      select *
      from unnest(${ids}::uuid[], ${series.map(({ planned }) => planned)}::uuid[]) as s (id, planned)
    ), channel as materialized (
      select c.id, c.deleted_at
      from channels c
      where c.org_id = ${orgId}
        and c.id in (
          select p.channel_id
          from posts p
          where p.org_id = ${orgId}
            and p.id = any(${[...postIds]}::uuid[])
        )
      order by c.id
      for no key update
    ), item as materialized (
      select p.id, s.planned, p.state, p.version,
        ${inFlight(sql)} or coalesce(${outcomeUnknown(sql)}, false) as in_flight
      from posts p
      join channel c on c.id = p.channel_id
      join series s on s.id = coalesce(p.root_post_id, p.id)
      where p.org_id = ${orgId}
        and (p.id = any(${ids}::uuid[]) or p.root_post_id = any(${ids}::uuid[]))
        and p.deleted_at is null
      order by p.id
      for no key update of p
    ), judged as (
      select planned, case
          when bool_or(in_flight) then 'in_flight'
          when bool_or(state = 'PUBLISHED') then 'published'
          when bool_or(version > 1) then 'changed'
        end as reason
      from item
      group by planned
    ), late as (
      select exists (
        select
        from posts p
        where p.org_id = ${orgId}
          and p.id = any(${[...postIds]}::uuid[])
          and p.created_at < now() - interval '10 minutes'
      ) as is_late
    ), changed as (
      update posts p
      set deleted_at = now(), updated_at = now(), recurrence = null -- of what has failed its series would go on
      from item i, judged j, late
      where not late.is_late
        and j.planned = i.planned
        and j.reason is null
        and p.id = i.id
        and p.org_id = ${orgId}
      returning ${post.names(sql, 'fact', 'p')}
    ), gone as (
      update posts p
      set deleted_at = now(), updated_at = now(), recurrence = null
      from channel c, late
      where not late.is_late
        and p.org_id = ${orgId}
        and (p.id = any(${ids}::uuid[]) or p.root_post_id = any(${ids}::uuid[]))
        and c.id = p.channel_id
        and ${returns(sql)}
      returning p.id, p.org_id
    ), ended as (
      select id, org_id
      from changed
      union all
      select id, org_id
      from gone
    ), undone as (
      update idempotency_keys
      set reply = ${reply}
      where org_id = ${orgId}
        and scope = ${scope}
        and key = ${key}
        and status is not null
        and exists (select from ended)
    ), ${timeline(sql, { from: sql`ended`, kind: 'cancelled', message: 'Deleted with its plan' })},
    ${announceDeleted(sql)}
    select late.is_late as "isLate",
      (select count(*)::int from changed where id in (select planned from series)) as deleted,
      (
        select json_agg(json_build_object('postId', planned, 'reason', reason) order by planned)
        from judged
        where reason is not null
      ) as kept
    from late`;
};
