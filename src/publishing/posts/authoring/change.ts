import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { consentOfRemoval, consentOfRequeue, holds, holdThread, writeConsent } from '../approval/consent.ts';
import type { PostsDeps } from '../deps.ts';
import { pausedFact, pauseMessage, pauseReason, releasedFact, timeline, withChannel } from '../journal.ts';
import { post } from '../row.ts';
import { braked, dueAfterParent, inFlight, labelsOf, queuedDetail } from '../state.ts';
import { announceDeleted } from './deletion.ts';
import { editWithin } from './edit.ts';
import type { PostAuthor, PostChange } from './input.ts';
import { judgeStored, type JudgedVersions } from './judge.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  lockedThread,
  OUTDATED,
  outdated,
  runChange,
  runSeeing,
  type Seen,
  type Target,
  type ThreadVerdict,
} from './thread.ts';
import { checkDone } from './verdict.ts';

// What people do to posts. Final before publishing; 409 while the post is on its way, 409 `already_published` after.

export interface Changed {
  state: string;
  publishDate: Date;
}
const changedOf = ({ state, publishDate }: Seen): Changed => ({
  state: state ?? '',
  publishDate: publishDate ?? new Date(0),
});

/**
 * Changes a post that is not out and not on its way: content of the item, date and status of its whole thread.
 * @throws AppError `not_found`, `conflict`, `already_published`, `date_in_past`, `invalid_content`, `invalid_request`
 *   for a disabled channel
 */
export async function editPost(deps: PostsDeps, orgId: string, postId: string, change: PostChange): Promise<Changed> {
  const target = { orgId, postId };
  // new content was judged before it came here, unless the post was a draft then
  let judged: boolean | JudgedVersions =
    !change.unjudged && (change.content !== undefined || change.thread !== undefined);
  for (;;) {
    const found = await runChange(deps, (sql) => editWithin(deps, sql, target, change, judged));
    if (found?.verdict === 'unjudged') {
      judged = await judgeStored(deps, orgId, postId, change); // again where it is another one by then
      continue;
    }
    const isLimited = found?.verdict === 'over_limit' && deps.billing.enabled;
    return changedOf(checkDone(found, isLimited ? await deps.billing.quota(orgId) : undefined));
  }
}

/**
 * Deletes a post with what follows it in its thread. Final: nothing of it goes out any more. What is left of a thread
 * is another content than before.
 */
export async function removePost(deps: PostsDeps, orgId: string, postId: string, by?: PostAuthor): Promise<void> {
  const target = { orgId, postId };
  checkDone(
    await runChange(deps, async (sql) => {
      const found = await runSeeing(() => remove(deps, sql, target, by));
      if (found?.verdict !== 'done') return found;
      if (found.consent === 'asked') await holdThread(sql, target);
      await writeConsent(sql, target, found.consent, by);
      if (found.rootId) await deps.followUps.shorten(sql, { orgId, postId: found.rootId });
      return found;
    }),
  );
}

/**
 * Deletes every post of a group with its threads, or nothing while one of them is on its way; answers how many roots.
 */
export async function removeGroup({ sql }: Pick<PostsDeps, 'sql'>, orgId: string, group: string): Promise<number> {
  return checkDone(await runSeeing(() => removeOfGroup(sql, orgId, group))).deleted;
}

/**
 * A person says where the post is on the network: it counts as published, and its thread goes on. Answers the channel,
 * whose slot may be free now. Items that were given up are held where `by` may not queue them unasked.
 * @throws AppError `not_found`, `conflict`, `already_published`, `validation_failed` for an id that is none of the account
 */
export async function setRelease(
  deps: PostsDeps,
  orgId: string,
  postId: string,
  { releaseId, by }: { releaseId: string; by?: PostAuthor | undefined },
): Promise<string> {
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
  return checkDone(found).channelId;
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

type Within = Pick<PostsDeps, 'followUps' | 'options'>;

const remove = ({ options }: Pick<PostsDeps, 'options'>, sql: Sql, target: Target, by: PostAuthor | undefined) => sql<
  FoundThread[]
>`
    with ${lockedThread(sql, target)}, deleted as (
      select b.*
      from thread b, thread t
      where t.is_target
        and (b.id = t.id or t.root_post_id is null or b.seq > t.seq)
    ), verdict as (
      select case
        ${outdated(sql)}
        when not exists (select from deleted) then 'not_found'
        when exists (select from deleted where in_flight) then 'in_flight'
        else 'done'
      end as verdict, ${consentOfRemoval(sql, target.orgId, by)} as consent
      from (select 1) one
      left join thread r on r.root_post_id is null
    ), changed as (
      update posts p
      set deleted_at = now(), updated_at = now()
      from deleted d, verdict v
      where v.verdict = 'done'
        and p.id = d.id
        and p.org_id = ${target.orgId}
      returning ${post.names(sql, 'fact', 'p')}
    ), ${channelsUpdated(sql, target.orgId, options.horizonMs)},
    ${timeline(sql, { from: sql`changed`, kind: 'cancelled', message: 'Deleted' })}, ${announceDeleted(sql)}
    ${answer(sql, target, sql`, v.consent, g.root_post_id as "rootId"`)}`;

const removeOfGroup = (sql: Sql, orgId: string, group: string) => sql<
  { verdict: ThreadVerdict | typeof OUTDATED; deleted: number }[]
>`
    with seen as materialized (
      select p.id, p.channel_id, p.version
      from posts p
      where p.org_id = ${orgId}
        and p.group_id = ${group}
        and p.deleted_at is null
    ), channel as materialized (
      select c.id
      from channels c
      where c.org_id = ${orgId}
        and c.id in (select channel_id from seen)
      order by c.id
      for no key update
    ), deleted as materialized (
      select p.id, p.version, ${inFlight(sql)} as in_flight
      from posts p
      join channel c on c.id = p.channel_id
      where p.org_id = ${orgId}
        and p.group_id = ${group}
        and p.deleted_at is null
      order by p.id
      for no key update of p
    ), verdict as (
      select case
        when exists (select from deleted d join seen s on s.id = d.id where s.version <> d.version) then ${OUTDATED}
        when not exists (select from deleted) then 'not_found'
        when exists (select from deleted where in_flight) then 'in_flight'
        else 'done'
      end as verdict
    ), changed as (
      update posts p
      set deleted_at = now(), updated_at = now()
      from deleted d, verdict v
      where v.verdict = 'done'
        and p.id = d.id
        and p.org_id = ${orgId}
      returning ${post.names(sql, 'fact', 'p')}
    ), ${timeline(sql, { from: sql`changed`, kind: 'cancelled', message: 'Deleted with its group' })},
    ${announceDeleted(sql)}
    select v.verdict, (select count(*)::int from changed where root_post_id is null) as deleted
    from verdict v`;

const release = (
  { followUps, options }: Within,
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
    ${answer(sql, target, sql`, case when exists (select from opened where state = 'DRAFT') then v.consent end as consent`)}`;

const releaseVerdict = (sql: Sql, { orgId }: Target, by: PostAuthor | undefined): Fragment => sql`
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
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
