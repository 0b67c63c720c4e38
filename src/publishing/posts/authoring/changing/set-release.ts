import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import { consentOfRequeue, holds, writeConsent } from '../../approval/consent.ts';
import type { PostsDeps } from '../../deps.ts';
import { pausedFact, pauseMessage, pauseReason, releasedFact, timeline, withChannel } from '../../journal.ts';
import { post } from '../../row.ts';
import { braked, dueAfterParent, labelsOf, queuedDetail } from '../../state.ts';
import type { PostAuthor } from '../input.ts';
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
import { checkDone } from '../verdict.ts';

/**
 * A person says where the post is on the network: it counts as published, and its thread goes on. Answers the channel,
 * whose slot may be free now, and the post that something follows now. Items that were given up are held where `by` may
 * not queue them unasked.
 * @throws AppError `not_found`, `conflict`, `already_published`, `validation_failed` for an id that is none of the account
 */
export async function setRelease(
  deps: PostsDeps,
  orgId: string,
  postId: string,
  { releaseId, by }: { releaseId: string; by?: PostAuthor | undefined },
): Promise<{ channelId: string; followed: string | undefined }> {
  const target = { orgId, postId };
  await judgeRelease(deps, target, releaseId);
  const found = await runChange(deps, async (sql) => {
    const seen = await runSeeing(() => release(deps, sql, target, { releaseId, by }));
    if (seen?.verdict === 'done') {
      await freeSlot(sql, target);
      await writeConsent(sql, target, seen.consent, by);
    }
    return seen;
  });
  const { channelId, followed } = checkDone(found);
  return { channelId, followed: followed ?? undefined };
}

/** Holds the named id against those of the account of the post. */
async function judgeRelease(
  { sql, releaseIds }: Pick<PostsDeps, 'sql' | 'releaseIds'>,
  { orgId, postId }: Target,
  releaseId: string,
): Promise<void> {
  const [account] = await sql<{ providerId: string; providerVersion: string; account: string }[]>`
    select c.provider_id as "providerId", c.provider_version as "providerVersion", c.internal_id as account
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.id = ${postId}`;
  if (account) releaseIds.check(account, releaseId); // without a post: 404
}

const release = (
  { followUps, options }: Pick<PostsDeps, 'followUps' | 'options'>,
  sql: Sql,
  target: Target,
  { releaseId, by }: { releaseId: string; by: PostAuthor | undefined },
) => sql<FoundThread[]>`
    with ${lockedThread(sql, target)}, verdict as (${releaseVerdict(sql, target, by)}
    ), released as (${markReleased(sql, target, releaseId)}
    ), opened as (${openLaterItems(sql, target)}
    ), changed as (
      select ${post.names(sql, 'fact', 'released')}
      from released
      union all
      select ${post.names(sql, 'fact', 'opened')}
      from opened
    ), ${channelsUpdated(sql, target.orgId, options.horizonMs)}, ${timeline(
      sql,
      {
        from: sql`released`,
        kind: 'reconciled',
        message: 'A person named the post on the network',
        data: sql`jsonb_build_object('releaseId', ${releaseId}::text)`,
      },
      {
        from: sql`opened where is_paused`,
        kind: 'paused',
        message: pauseMessage(sql),
      },
    )}, ${announce(sql, {
      'post.paused': {
        from: withChannel(sql, sql`(select * from opened where is_paused)`, sql`channel`),
        payload: pausedFact(sql, pauseReason(sql)),
      },
      'post.published': {
        from: withChannel(
          sql,
          sql`(select * from released where root_post_id is null and state_before <> 'PUBLISHED')`,
        ),
        payload: releasedFact(sql),
      },
    })}, ${followUps.plan(
      sql,
      // what goes on behind it counts as given up as this statement sees it
      sql`(select * from released where root_post_id is null or not exists (select from opened))`,
    )}
    ${answer(
      sql,
      target,
      sql`, case when exists (select from opened where state = 'DRAFT') then v.consent end as consent,
      (select post_id from follow_ups limit 1) as followed`,
    )}`;

const releaseVerdict = (sql: Sql, { orgId }: Target, by: PostAuthor | undefined): Fragment => sql`
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when exists (select from thread b where b.id = t.parent_post_id and b.state <> 'PUBLISHED') then 'not_failed'
        when t.state = 'ERROR'
          or t.state = 'QUEUE' and t.detail = 'unconfirmed'
          or t.state = 'PUBLISHED' and coalesce(t.release_id, '') = '' then 'done'
        when t.state = 'PUBLISHED' then 'published'
        else 'not_failed'
      end as verdict,${consentOfRequeue(sql, orgId, by)} as consent
      from (select 1) one
      left join thread t on t.is_target
      left join thread r on r.root_post_id is null`;

const markReleased = (sql: Sql, { orgId }: Target, releaseId: string): Fragment => sql`
      update posts p
      set state = 'PUBLISHED', detail = null, error_kind = null, error = null, release_id = ${releaseId},
        published_at = coalesce(p.published_at, now()), look_up_at = null, version = p.version + 1, updated_at = now()
      from thread b, verdict v
      where v.verdict = 'done'
        and b.is_target
        and p.id = b.id
        and p.org_id = ${orgId}
      returning ${post.names(sql, 'fact', 'p')}, p.seq, p.settings, b.state as state_before`;

/** The later items of the thread, which were given up or wait, go on after the released one. */
const openLaterItems = (sql: Sql, { orgId }: Target): Fragment => sql`
      update posts p
      set state = case when h.held then 'DRAFT' else 'QUEUE' end,
        detail = case when h.held then 'awaiting_approval' else ${queuedDetail(sql, labelsOf(sql))} end,
        on_brake = not h.held and ${braked(sql, labelsOf(sql))}, error_kind = null, error = null,
        due_at = case when p.parent_post_id = s.id and not h.held then ${dueAfterParent(sql)} end, updated_at = now()
      from released s, thread b, channel c, verdict v, lateral (select ${holds(sql)} and b.state = 'ERROR' as held) h
      where p.id = b.id
        and p.org_id = ${orgId}
        and b.id <> s.id
        and b.attempt = 0
        and b.seq > (select seq from thread where id = s.id)
        and (b.state = 'ERROR' or b.state = 'QUEUE' and b.due_at is null)
      returning ${post.names(sql, 'fact', 'p')}, p.on_brake,
        p.state = 'QUEUE' and p.detail = 'paused' and b.detail is distinct from 'paused' as is_paused`;

/** Frees the slot that a post holds, after it was settled by a person. */
async function freeSlot(sql: Sql, { orgId, postId }: Target): Promise<void> {
  await sql`
    update channels
    set slot_incarnation = null, slot_post_id = null, slot_until = null, due_version = due_version + 1
    where org_id = ${orgId}
      and slot_post_id = ${postId}`;
}
