import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { holds } from '../../approval/consent.ts';
import { post } from '../../row.ts';
import { braked, overLimit, queuedDetail } from '../../state.ts';
import type { Target } from '../thread.ts';
import type { JudgedEdit } from './edit-verdict.ts';
import { labelsAfter } from './edited-labels.ts';
import { editedSettings, getsSettings } from './edited-settings.ts';
import { isLeftPaused } from './left-paused.ts';

const editedDetail = (sql: Sql, status: JudgedEdit['status']): Fragment => sql`case
          when s.held then 'awaiting_approval'
          when ${status === 'draft'} then case
            when b.detail = 'awaiting_approval' then null
            when b.state = 'DRAFT' then b.detail
            else 'cancelled' end
          when s.enters then ${queuedDetail(sql, labelsAfter(sql, 'p'))}
          else b.detail
        end`;

const editedDueAt = (sql: Sql): Fragment => sql`case
          when s.state <> 'QUEUE' then null
          when p.root_post_id is null
            and (b.state <> 'QUEUE' or e.given ? 'publishDate') then coalesce(e."publishDate", p.publish_date)
          when b.state <> 'QUEUE' then null
          when p.root_post_id is null then coalesce(p.due_at, p.publish_date)
          else p.due_at
        end`;

/** `t` is the post, `b` a row of its thread as it was locked, `s` its state after the change. */
export const applyEdit = (
  sql: Sql,
  { orgId }: Target,
  { status, settings }: JudgedEdit,
  isWhole: boolean,
): Fragment => sql`
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
        attempts_failed = case when b.state <> s.state or e.given ? 'publishDate' then 0 else p.attempts_failed end,
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
