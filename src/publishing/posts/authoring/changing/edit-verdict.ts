import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { consentOfEdit } from '../../approval/consent-of-edit.ts';
import { post } from '../../row.ts';
import { awaitsApproval, braked, neverCounted, overLimit } from '../../state.ts';
import type { PostChange } from '../input.ts';
import type { JudgedVersions } from '../judge.ts';
import { isBehindSeries, outdated, type Target } from '../thread.ts';
import { labelsAfter } from './edited-labels.ts';
import { settingsChange } from './edited-settings.ts';
import { isLeftPaused } from './left-paused.ts';

/** `items`: what follows the first one, where that is replaced. */
export type JudgedEdit = Omit<PostChange, 'thread' | 'shortLinks'> & {
  judged: boolean | JudgedVersions;
  items: PostChange['thread'];
};

/** Nothing but that an item `t` goes on which is left paused, of a thread whose root is out: it has no date to be given. */
const letsGoOn = (sql: Sql, { status, campaignTag, ...change }: JudgedEdit): Fragment =>
  status === 'schedule' && campaignTag === undefined && Object.keys(post.pick('thread', change)).length === 0
    ? isLeftPaused(sql, 't')
    : sql`false`;

/** `t` is the post, `r` the root of its thread. */
export const verdictOfEdit = (sql: Sql, target: Target, change: JudgedEdit, isWhole: boolean): Fragment => {
  const { version, status, judged, unjudged = false } = change;
  return sql`
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when t.in_flight or (${isWhole} and r.in_flight) then 'in_flight'
        when t.state = 'PUBLISHED' or ${isWhole} and r.state = 'PUBLISHED' and not ${letsGoOn(sql, change)} then 'published'
        when (t.undecided or r.undecided) and (${status !== undefined} or e.given ? 'publishDate') then 'undecided'
        when ${version ?? null}::int <> t.version then 'stale'
        when r.on_brake
          and (e.given ? 'tagIds' or e.given ? 'group' and e."group" <> r.group_id)
          and not ${braked(sql, labelsAfter(sql, 'r'))} then 'braked'
        when e.given ? 'recurrence' and t.repeated_at is not null then 'repeated'
        when e.given ? 'publishDate' and not e.given ? 'recurrence'
          and ${isBehindSeries(sql, sql`e."publishDate"`)} then 'ended'
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
const isJudged = (sql: Sql, judged: JudgedEdit['judged']): Fragment =>
  typeof judged === 'boolean'
    ? sql`${judged}`
    : sql`not exists (
            select
            from thread b
            where (b.is_target or t.root_post_id is null)
              and (${JSON.stringify(judged)}::text::jsonb ->> b.id::text)::int is distinct from b.version
          )`;
