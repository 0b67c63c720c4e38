import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import { writeConsent } from '../../approval/consent.ts';
import { paymentPolicy } from '../../bulk.ts';
import type { PostsOptions } from '../../deps.ts';
import { moment, pausedFact, pauseReason, queuedFact, timeline, withChannel } from '../../journal.ts';
import { post } from '../../row.ts';
import type { PostChange } from '../input.ts';
import type { JudgedVersions } from '../judge.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  lockedThread,
  runSeeing,
  type Seen,
  type Target,
} from '../thread.ts';
import { applyEdit } from './apply-edit.ts';
import { type JudgedEdit, verdictOfEdit } from './edit-verdict.ts';
import { tagsInCampaign } from './edited-labels.ts';
import { replaceThread } from './replace-thread.ts';

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

const edit = (sql: Sql, target: Target, change: JudgedEdit, horizonMs: number) => {
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
  data: sql`jsonb_build_object('publishDate', ${moment(sql, sql`publish_date`)})${
    agent === undefined ? sql`` : sql` || jsonb_build_object('agent', ${agent}::text, 'version', version)`
  }`,
});
