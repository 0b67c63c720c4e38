import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { holds, writeConsent } from '../approval/consent.ts';
import { consentOfEdit } from '../approval/consent-of-edit.ts';
import { owed, paymentPolicy } from '../bulk.ts';
import type { PostsOptions } from '../deps.ts';
import { pausedFact, pauseReason, queuedFact, timeline, withChannel } from '../journal.ts';
import { post } from '../row.ts';
import { awaitsApproval, braked, type Labels, neverCounted, overLimit, paused, queuedDetail } from '../state.ts';
import type { PostChange } from './input.ts';
import type { JudgedVersions } from './judge.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  lockedThread,
  outdated,
  runSeeing,
  type Seen,
  type Target,
} from './thread.ts';

/**
 * Changes a post in the transaction of the caller, who moves the reminder and looks at the verdict. `judged`: the
 * content was held against the network's limits, or these versions of what is stored were; else only what is queued
 * already can be scheduled, and a change that is `unjudged` is for drafts alone.
 */
export async function editWithin(
  { links, options }: Pick<PostsOptions, 'links' | 'options'>,
  sql: Sql,
  target: Target,
  { thread, shortLinks, ...change }: PostChange,
  judged: boolean | JudgedVersions,
): Promise<Seen | undefined> {
  const found = await runSeeing(() => edit(sql, target, { ...change, judged, items: thread }, options.horizonMs));
  if (found?.verdict !== 'done') return found;
  await writeConsent(sql, target, found.consent, change.by);
  const { orgId, postId } = target;
  const { content, settings, publishDate, status } = change;
  if (![thread, content, settings, publishDate, status].some((part) => part !== undefined)) return found;
  const asked = await links.isAsked(sql, orgId, postId);
  if (thread) await replaceThread(sql, target, thread);
  const wanted = shortLinks ?? asked;
  if (asked || wanted) await links.replan(sql, orgId, postId, wanted);
  return found;
}

/** `items`: what follows the first one, where that is replaced. */
type Edit = Omit<PostChange, 'thread' | 'shortLinks'> & {
  judged: boolean | JudgedVersions;
  items: PostChange['thread'];
};

const edit = (sql: Sql, target: Target, change: Edit, horizonMs: number) => {
  const given = { ...post.pick('edit', change), ...post.pick('thread', change) };
  const isWhole =
    change.status !== undefined ||
    change.campaignTag !== undefined ||
    Object.keys(post.pick('thread', change)).length > 0;
  return sql<FoundThread[]>`
    with ${lockedThread(sql, target)}, ${paymentPolicy(sql, target.orgId)}, edit as materialized (
      select g.given, t.*
      from (select ${JSON.stringify(given)}::text::jsonb${tagsInCampaign(sql, change.campaignTag)} as given) g
      cross join lateral jsonb_to_record(g.given) as t (${post.record(sql, 'edit')}, ${post.record(sql, 'thread')})
    ), verdict as (${verdictOfEdit(sql, target, change, isWhole)}
    ), changed as (${applyEdit(sql, target, change, isWhole)}
    ), ${channelsUpdated(sql, target.orgId, horizonMs)}, ${timeline(sql, editEntry(sql, change.by?.agent))}, ${announce(
      sql,
      {
        'post.scheduled': {
          from: withChannel(
            sql,
            sql`(
            select *
            from changed
            where root_post_id is null
              and state = 'QUEUE'
              and (state_before <> 'QUEUE' or date_before <> publish_date)
          )`,
            sql`channel`,
          ),
          payload: queuedFact(sql),
        },
        'post.paused': {
          from: withChannel(sql, enteredPause(sql), sql`channel`),
          payload: pausedFact(sql, pauseReason(sql)),
        },
        'post.resumed': {
          from: withChannel(sql, sql`(select * from changed where ${leftPause(sql)})`, sql`channel`),
          payload: pausedFact(sql, sql`'channel'`),
        },
      },
    )}
    ${answer(sql, target, sql`, v.consent`)}`;
};

/** First items that wait from now on; `changed` has their detail before. */
const enteredPause = (sql: Sql): Fragment => sql`(
            select *
            from changed
            where root_post_id is null
              and detail = 'paused'
              and detail_before is distinct from 'paused'
          )`;

/** Items that no longer wait, of rows of `changed`. */
const leftPause = (sql: Sql): Fragment =>
  sql`(state = 'QUEUE' and state_before = 'QUEUE' and detail = 'scheduled' and detail_before = 'paused')`;

/**
 * The row `alias` is paused though its channel `c` works: it was too late when that worked again, and a person decides
 * (S135). It waits neither for a brake nor for a payment or for room in the plan.
 */
const isLeftPaused = (sql: Sql, alias: string): Fragment => sql`(
            ${paused(sql, alias)}
            and not ${sql(alias)}.on_brake
            and not c.disabled
            and not c.refresh_needed
            and not ${overLimit(sql, alias)}
            and not (select ${owed(sql, alias)} from policy)
            and ( -- one that was paused while this waited for the lock waits for what the snapshot does not show
              select o.detail
              from posts o
              where o.org_id = ${sql(alias)}.org_id
                and o.id = ${sql(alias)}.id
            ) = 'paused'
          )`;

/** Nothing but that an item `t` goes on which is left paused, of a thread whose root is out: it has no date to be given. */
const letsGoOn = (sql: Sql, { status, campaignTag, ...change }: Edit): Fragment =>
  status === 'schedule' && campaignTag === undefined && Object.keys(post.pick('thread', change)).length === 0
    ? isLeftPaused(sql, 't')
    : sql`false`;

/** `t` is the post, `r` the root of its thread. */
const verdictOfEdit = (sql: Sql, target: Target, change: Edit, isWhole: boolean): Fragment => {
  const { version, status, judged, unjudged = false } = change;
  return sql`
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when t.in_flight or (${isWhole} and r.in_flight) then 'in_flight'
        when t.state = 'PUBLISHED' or ${isWhole} and r.state = 'PUBLISHED' and not ${letsGoOn(sql, change)} then 'published'
        when (t.undecided or r.undecided) and (${status !== undefined} or e.given ? 'publishDate') then 'undecided'
        when ${version ?? null}::int <> t.version then 'stale'
        when r.on_brake and e.given ? 'group' and e."group" <> r.group_id then 'braked'
        when r.on_brake and e.given ? 'tagIds' and not ${braked(sql, labelsAfter(sql, 'r'))} then 'braked'
        when e.given ? 'recurrence' and t.repeated_at is not null then 'repeated'
        when ${status !== undefined} and (${overLimit(sql, 'r')} or ${neverCounted(sql, 'r')}) then 'over_limit'
        when ${status === 'schedule'} and c.disabled then 'disabled'
        when (
            ${status === 'schedule'} and r.state not in ('QUEUE', 'PUBLISHED')
            or ${status === 'schedule'} and ${isLeftPaused(sql, 'r')}
            or e.given ? 'publishDate' and r.state = 'QUEUE' and ${status !== 'draft'}
          )
          and coalesce(e."publishDate", r.publish_date) < now() - interval '24 hours' then 'too_old'
        when not ${isJudged(sql, judged)}
          and (
            ${status === 'schedule'} and r.state not in ('QUEUE', 'PUBLISHED')
            or ${unjudged} and (t.state = 'QUEUE' or ${awaitsApproval(sql, 't')})
          ) then 'unjudged'
        else 'done'
      end as verdict, ${consentOfEdit(sql, target.orgId, change, settingsChange(sql, change.settings))} as consent
      from edit e
      left join thread t on t.id = ${target.postId}
      left join thread r on r.root_post_id is null
      left join channel c on true`;
};

/** What is judged of the post `t` is what is stored: of a first item with all items behind it. */
const isJudged = (sql: Sql, judged: Edit['judged']): Fragment =>
  typeof judged === 'boolean'
    ? sql`${judged}`
    : sql`not exists (
            select
            from thread b
            where (b.is_target or t.root_post_id is null)
              and (${JSON.stringify(judged)}::text::jsonb ->> b.id::text)::int is distinct from b.version
          )`;

/** Adds to what is given the tags that the thread has, as it was locked, with another campaign among them. */
const tagsInCampaign = (sql: Sql, campaignTag: Edit['campaignTag']): Fragment =>
  campaignTag === undefined
    ? sql``
    : sql` || coalesce((
        select jsonb_build_object('tagIds', array(
          select o.tag
          from unnest(r.tag_ids) with ordinality as o (tag, n)
          where o.tag is distinct from ${campaignTag}::uuid
            and not exists (select from campaigns k where k.org_id = r.org_id and k.tag_id = o.tag)
          order by o.n
        ) || array_remove(array[${campaignTag}::uuid], null))
        from thread r
        where r.root_post_id is null
      ), '{}')`;

/** What the settings of the row `alias` become. */
const settingsAfter = (sql: Sql, settings: Edit['settings'], alias: string): Fragment => sql`(
            case when ${settings?.merge ?? false} then ${sql(alias)}.settings else '{}' end
            || ${JSON.stringify(settings?.values ?? {})}::text::jsonb
          )`;

/** The row `b` gets the settings given for the post `t`: those of a first item are the settings of its whole thread. */
const getsSettings = (sql: Sql, settings: Edit['settings']): Fragment =>
  settings === undefined ? sql`false` : sql`(b.is_target or t.root_post_id is null)`;

/** The settings of an item that is not out become others. */
const settingsChange = (sql: Sql, settings: Edit['settings']): Fragment => sql`exists (
            select
            from thread b
            where ${getsSettings(sql, settings)}
              and b.state <> 'PUBLISHED'
              and b.settings is distinct from ${settingsAfter(sql, settings, 'b')}
          )`;

const editedSettings = (sql: Sql, settings: Edit['settings']): Fragment => sql`case
          when ${getsSettings(sql, settings)} then ${settingsAfter(sql, settings, 'p')}
          else p.settings
        end`;

const editedDetail = (sql: Sql, status: Edit['status']): Fragment => sql`case
          when s.held then 'awaiting_approval'
          when ${status === 'draft'} then case
            when b.detail = 'awaiting_approval' then null
            when b.state = 'DRAFT' then b.detail
            else 'cancelled' end
          when s.enters then ${queuedDetail(sql, labelsAfter(sql, 'p'))}
          else b.detail
        end`;

/** The labels of the row `alias` after the change. */
const labelsAfter = (sql: Sql, alias: string): Labels => ({
  group: sql`case when e.given ? 'group' then e."group" else ${sql(alias)}.group_id end`,
  tags: sql`case when e.given ? 'tagIds' then e."tagIds" else ${sql(alias)}.tag_ids end`,
});

const editedDueAt = (sql: Sql): Fragment => sql`case
          when s.state <> 'QUEUE' then null
          when p.root_post_id is null
            and (b.state <> 'QUEUE' or e.given ? 'publishDate') then coalesce(e."publishDate", p.publish_date)
          when b.state <> 'QUEUE' then null
          when p.root_post_id is null then coalesce(p.due_at, p.publish_date)
          else p.due_at
        end`;

/** `t` is the post, `b` a row of its thread as it was locked, `s` its state after the change. */
const applyEdit = (sql: Sql, { orgId }: Target, { status, settings }: Edit, isWhole: boolean): Fragment => sql`
      update posts p
      set ${post.assign(sql, 'edit', 'e', 'b.is_target')},
        ${post.assign(sql, 'thread', 'e')},
        content_clean = p.content_clean or b.is_target and e.given ? 'content',
        settings = ${editedSettings(sql, settings)},
        state = s.state,
        detail = ${editedDetail(sql, status)},
        due_at = ${editedDueAt(sql)},
        on_brake = case when s.enters then ${braked(sql, labelsAfter(sql, 'p'))} else s.state = 'QUEUE' and p.on_brake end,
        error_kind = case when s.state = 'ERROR' or ${overLimit(sql)} then p.error_kind end,
        error = case when s.state = 'ERROR' or ${overLimit(sql)} then p.error end,
        attempts_failed = case when b.state <> s.state then 0 else p.attempts_failed end,
        -- what the network was given for the post as it was; of an attempt whose outcome is open it is kept
        saved = case
          when b.undecided
            or not (b.is_target and e.given ?| '{content,media}' or ${getsSettings(sql, settings)}) then p.saved
        end,
        preparation = null,
        prepare_at = null,
        version = p.version + 1,
        updated_at = now()
      from edit e, thread t, thread b, channel c, verdict v,
        lateral (
          select a.held, a.state, a.state = 'QUEUE' and (
              b.state <> 'QUEUE'
              or b.detail = 'retrying' and e.given ? 'publishDate'
              or (${status === 'schedule'} or e.given ? 'publishDate') and ${isLeftPaused(sql, 'b')}
              or b.detail in ('scheduled', 'retrying') and e.given ? 'group'
              or b.detail in ('scheduled', 'retrying') and e.given ? 'tagIds' and ${braked(sql, labelsAfter(sql, 'b'))}
            ) as enters
          from (
            select h.held, case
              when h.held then 'DRAFT'
              when ${status === 'schedule'} then 'QUEUE'
              when ${status === 'draft'} then 'DRAFT'
              else b.state
            end as state
            from (select ${holds(sql)} and (b.state = 'QUEUE' or ${status === 'schedule'}) as held) h
          ) a
        ) s
      where v.verdict = 'done'
        and t.is_target
        and p.id = b.id
        and p.org_id = ${orgId}
        and b.state <> 'PUBLISHED'
        and not b.in_flight
        and (
          b.is_target
          or ${isWhole}
          or ${getsSettings(sql, settings)}
          or v.consent = 'asked' and b.state = 'QUEUE'
        )
      returning ${post.names(sql, 'fact', 'p')}, b.state as state_before, b.publish_date as date_before,
        b.detail as detail_before, p.on_brake, p.version`;

/** `findAgents` reads who edited which version. */
const editEntry = (sql: Sql, agent: string | undefined) => ({
  from: sql`changed`,
  kind: sql`case
        when detail = 'awaiting_approval' then 'edited'
        when state = 'DRAFT' and state_before = 'QUEUE' then 'cancelled'
        when state = 'QUEUE' and state_before <> 'QUEUE' then 'scheduled'
        when ${leftPause(sql)} then 'resumed'
        else 'edited'
      end`,
  message: sql`case
        when detail = 'awaiting_approval' then 'Edited'
        when state = 'DRAFT' and state_before = 'QUEUE' then 'Taken out of the queue'
        when state = 'QUEUE' and state_before <> 'QUEUE' then 'Scheduled'
        when ${leftPause(sql)} then 'A person lets it go on'
        else 'Edited'
      end`,
  data: sql`jsonb_build_object('publishDate', publish_date)${
    agent === undefined ? sql`` : sql` || jsonb_build_object('agent', ${agent}::text, 'version', version)`
  }`,
});

/**
 * Puts other items behind a root; ids of earlier items may come again. In the transaction of the edit, which holds the
 * locks.
 */
async function replaceThread(
  sql: Sql,
  { orgId, postId }: Target,
  items: NonNullable<PostChange['thread']>,
): Promise<void> {
  await sql`
    delete from posts
    where org_id = ${orgId}
      and root_post_id = ${postId}
      and state <> 'PUBLISHED'`;
  if (items.length === 0) return;
  const rows = items.map((item, n) => ({ ...item, n, parentPostId: items[n - 1]?.id ?? postId }));
  await sql`
    insert into posts (
      ${post.names(sql, 'item')}, org_id, channel_id, group_id, root_post_id, state, detail, on_brake, content_clean,
      settings, publish_date, tag_ids, creation_method, created_by
    )
    select ${post.values(sql, 'item', 'i')}, r.org_id, r.channel_id, r.group_id, r.id, r.state,
      case r.detail when 'retrying' then 'scheduled' else r.detail end, r.on_brake, true,
      r.settings, r.publish_date, r.tag_ids, r.creation_method, r.created_by
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (n int, ${post.record(sql, 'item')}), posts r
    where r.org_id = ${orgId}
      and r.id = ${postId}
    order by i.n`;
}
