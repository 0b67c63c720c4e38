import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { PostAuthor } from '../authoring/input.ts';
import { judgeStored } from '../authoring/judge.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  isBehindSeries,
  lockedThread,
  outdated,
  runChange,
  runSeeing,
  type Target,
} from '../authoring/thread.ts';
import { checkDone, pastDate, REFUSALS, seriesFault } from '../authoring/verdict.ts';
import type { PostsDeps } from '../deps.ts';
import { getPost } from '../reading/find.ts';
import type { PostRow } from '../reading/row.ts';
import { post } from '../row.ts';
import { awaitsApproval, braked, labelsOf, overLimit, queuedDetail } from '../state.ts';
import { contentHash, writeConsent } from './consent.ts';
import { writeDecision } from './decision.ts';

/** What a person approves: the content that they have seen, and when it goes out if not at the date that it has. */
export interface Approval {
  by: PostAuthor;
  contentHash?: string | undefined;
  publishDate?: Date | undefined;
}

/**
 * Approves a thread that waits for it, which is queued then; its date may have gone by for a day, and then it is due at
 * once.
 * @throws AppError `conflict` where it does not wait, or is no longer what was seen; `date_in_past`, `invalid_content`
 */
export async function approvePost(deps: PostsDeps, orgId: string, postId: string, approval: Approval): Promise<void> {
  const target = { orgId, postId };
  const root = await findAwaiting(deps, target);
  await judgeStored(deps, orgId, root.id); // a draft is held against the limits of its network when it is queued
  const approved = { ...approval, contentHash: approval.contentHash ?? root.contentHash! };
  checkDone(
    await runChange(deps, async (sql) => {
      const found = await runSeeing(() => approve(sql, target, approved, deps.options.horizonMs));
      if (found?.verdict === 'too_old') throw pastDate('publishDate');
      if (found?.verdict === 'ended') throw seriesFault('publishDate');
      if (found?.verdict !== 'done') return found;
      await writeDecision(sql, target, 'approved', approval);
      // its links were put off until it has a time
      if (await deps.links.isAsked(sql, orgId, postId)) await deps.links.replan(sql, orgId, postId, true);
      return found;
    }),
  );
}

/** Refuses a thread that waits for approval: it is a draft from then on. */
export async function rejectPost(
  deps: PostsDeps,
  orgId: string,
  postId: string,
  { by, reason }: { by: PostAuthor; reason: string },
): Promise<void> {
  const target = { orgId, postId };
  checkDone(
    await runChange(deps, async (sql) => {
      const found = await runSeeing(() => reject(sql, target));
      if (found?.verdict === 'done') await writeDecision(sql, target, 'rejected', { by, reason });
      return found;
    }),
  );
}

/** Has a draft wait for approval; what waits for it already goes on waiting. */
export async function requestApproval(deps: PostsDeps, orgId: string, postId: string, by: PostAuthor): Promise<void> {
  const target = { orgId, postId };
  await judgeStored(deps, orgId, postId);
  checkDone(
    await runChange(deps, async (sql) => {
      const found = await runSeeing(() => request(sql, target));
      if (found?.verdict === 'done') await writeConsent(sql, target, found.consent, by);
      return found;
    }),
  );
}

/** The first item of a thread that waits for approval. */
async function findAwaiting(deps: PostsDeps, { orgId, postId }: Target): Promise<PostRow> {
  const rows = await getPost(deps, orgId, postId);
  const one = rows.find(({ id }) => id === postId)!;
  const root = one.rootPostId === null ? one : (await getPost(deps, orgId, one.rootPostId))[0]!;
  if (root.approvalState !== 'awaiting') throw REFUSALS.not_awaiting();
  return root;
}

/** `t` is the post, `r` the root of its thread. */
const located = (sql: Sql): Fragment => sql`
      from (select 1) one
      left join thread t on t.is_target
      left join thread r on r.root_post_id is null
      left join channel c on true`;

const approve = (sql: Sql, target: Target, { contentHash: seen, publishDate }: Approval, horizonMs: number) => {
  const date = publishDate ?? null;
  return sql<FoundThread[]>`
    with ${lockedThread(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        -- what waits behind a post that is out was deleted with its channel, and comes back with it
        when r.approval_state is distinct from 'awaiting' or c.deleted_at is not null then 'not_awaiting'
        when ${overLimit(sql, 'r')} then 'over_limit' -- approved when the plan has room for it, as it is then
        when ${contentHash(sql, sql`thread`)} is distinct from ${seen ?? null} then 'changed'
        when ${isBehindSeries(sql, sql`${date}::timestamptz`)} then 'ended'
        when c.disabled then 'disabled'
        when (${date !== null} or r.state = 'DRAFT')
          and coalesce(${date}::timestamptz, r.publish_date) < now() - interval '24 hours' then 'too_old'
        else 'done'
      end as verdict${located(sql)}
    ), changed as (
      update posts p
      set state = 'QUEUE', detail = ${queuedDetail(sql, labelsOf(sql))}, publish_date = d.date, due_at = ${dueApproved(sql)},
        on_brake = ${braked(sql, labelsOf(sql))}, version = p.version + 1, updated_at = now()
      from thread b, channel c, verdict v,
        lateral (select coalesce(${date}::timestamptz, b.publish_date) as date) d
      where v.verdict = 'done'
        and p.id = b.id
        and p.org_id = ${target.orgId}
        and ${awaitsApproval(sql, 'b')}
      returning ${post.names(sql, 'fact', 'p')}
    ), ${channelsUpdated(sql, target.orgId, horizonMs)}
    ${answer(sql, target)}`;
};

/** Of an item behind another: from the moment in which that one was published, if it was. */
const dueApproved = (sql: Sql): Fragment => sql`case
          when b.root_post_id is null then d.date
          else (
            select greatest(a.published_at + b.delay_minutes * interval '1 minute', d.date)
            from thread a
            where a.id = b.parent_post_id
              and a.state = 'PUBLISHED'
          )
        end`;

const reject = (sql: Sql, target: Target) => sql<FoundThread[]>`
    with ${lockedThread(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        -- what waits behind a post that is out was deleted with its channel, and comes back with it
        when r.approval_state is distinct from 'awaiting' or c.deleted_at is not null then 'not_awaiting'
        when ${overLimit(sql, 'r')} then 'over_limit' -- approved when the plan has room for it, as it is then
        else 'done'
      end as verdict${located(sql)}
    ), changed as (${setDetail(sql, target, sql`null`, sql`${awaitsApproval(sql, 'b')}`)}
    )
    ${unmoved(sql, target)}`;

const request = (sql: Sql, target: Target) => sql<FoundThread[]>`
    with ${lockedThread(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when r.approval_state = 'awaiting' then 'done'
        when r.state not in ('DRAFT', 'PUBLISHED') or not exists (select from thread b where b.state = 'DRAFT') then 'not_draft'
        else 'done'
      end as verdict, case when r.approval_state = 'awaiting' then 'kept' else 'asked' end as consent${located(sql)}
    ), changed as (${setDetail(sql, target, sql`'awaiting_approval'`, sql`b.state = 'DRAFT' and v.consent = 'asked'`)}
    )
    ${unmoved(sql, target, sql`, v.consent`)}`;

const setDetail = (sql: Sql, { orgId }: Target, detail: Fragment, where: Fragment): Fragment => sql`
      update posts p
      set detail = ${detail}, version = p.version + 1, updated_at = now()
      from thread b, verdict v
      where v.verdict = 'done'
        and p.id = b.id
        and p.org_id = ${orgId}
        and ${where}
      returning ${post.names(sql, 'fact', 'p')}`;

/** What a statement answers that queues nothing. */
const unmoved = (sql: Sql, { orgId, postId }: Target, also: Fragment = sql``): Fragment => sql`
    select v.verdict, ${orgId}::text as "orgId", (select id from channel)::text as "channelId",
      null::timestamptz as earlier, g.state, g.publish_date as "publishDate"${also}
    from verdict v
    left join changed g on g.id = ${postId}`;
