import { type Fragment, prepared, type Sql } from '../../../../platform/db/index.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import { approvalSetting, isHeld } from '../../approval/consent.ts';
import { decidedFact, moment, pausedFact, pauseReason, queuedFact, timeline, withChannel } from '../../journal.ts';
import type { ReminderMoves } from '../../ports.ts';
import { post } from '../../row.ts';
import { braked, type Labels, queuedDetail } from '../../state.ts';
import { underQuotas } from './quotas.ts';

export interface InsertAnswer {
  refused: { n: number; why: 'channel' | 'claim' | 'stale' | 'locked' }[] | null;
  earlier: { orgId: string; channelId: string; dueAt: string }[] | null;
  used: { orgId: string; used: number }[] | null;
  /** Where somebody counts them: the roots of threads that are new. */
  roots: string[] | null;
}

interface InsertValues {
  items: string;
  claims: string;
  quotas: string;
  horizonMs: number;
  version: string | null;
}
/**
 * The statement that stores creates; `isLimited`: some are under a quota, `isCounted`: their roots are asked for.
 * `reminders`: moves them itself.
 */
const insertionOf = (isLimited: boolean, isCounted: boolean, reminders?: ReminderMoves) =>
  prepared<InsertValues, InsertAnswer>((sql, value) => {
    const quotas = underQuotas(sql, isLimited ? value('quotas') : undefined);
    return sql`
      with ${quotas.judged} item as materialized (
        select *
        from json_to_recordset(${value('items')}::text::json) as t (
          n int, ordinal int, "orgId" uuid, state text, "createdBy" uuid, "schedulesFreely" boolean,
          "approvalBy" uuid, "approvalAt" timestamptz, "approvalHash" text, "waitsForRoom" boolean,
          "publishDate" timestamptz, ${post.record(sql, 'create')}
        ) ${quotas.fresh}
      ), claim as materialized (
        select *
        from json_to_recordset(${value('claims')}::text::json) as t (
          n int, "orgId" uuid, scope text, key text, claim uuid, status int, reply text
        ) ${quotas.fresh}
      ), ${lockedChannels(sql)}, kept as (${keepReplies(sql)}
      ), refused as (
        select n, case when locked then 'locked' else 'channel' end as why
        from unknown_channels
        union all
        select q.n, 'claim'
        from claim q
        where q.n not in (select n from kept)
          and q.n not in (select n from unknown_channels) ${quotas.refused}
      ), inserted as (${insertItems(sql)}
      ), ${timeline(sql, {
        from: sql`inserted`,
        kind: 'created',
        message: sql`case
          when on_brake then 'Created, waits for the brake'
          when state = 'QUEUE' then 'Created and scheduled'
          when detail = 'awaiting_approval' then 'Created, waits for approval'
          else 'Created as a draft'
        end`,
        data: sql`jsonb_build_object('publishDate', ${moment(sql, sql`publish_date`)})`,
      })}, ${announce(sql, {
        'post.scheduled': {
          from: withChannel(
            sql,
            sql`(select * from inserted where state = 'QUEUE' and root_post_id is null)`,
            sql`channel`,
          ),
          payload: queuedFact(sql),
        },
        'post.approval_requested': {
          from: withChannel(sql, sql`(select * from inserted where approval_state = 'awaiting')`, sql`channel`),
          payload: decidedFact(sql, sql`created_by`),
        },
        'post.paused': {
          from: withChannel(
            sql,
            sql`(select * from inserted where detail = 'paused' and root_post_id is null)`,
            sql`channel`,
          ),
          payload: pausedFact(sql, pauseReason(sql)),
        },
      })}, ${channelsUpdated(sql, value('horizonMs'))} ${quotas.counted}
      ${reminders?.inStatement(sql, sql`(select * from earlier where remind) m`, value('version')) ?? sql``}
      select (select json_agg(json_build_object('n', n, 'why', why)) from refused) as refused, (
          select json_agg(json_build_object('orgId', org_id, 'channelId', channel_id, 'dueAt', due_at))
          from earlier
          where remind
        ) as earlier, ${quotas.used} as used,
        ${isCounted ? sql`(select json_agg(id) from inserted where root_post_id is null)` : sql`null::json`} as roots`;
  });
/** By `isLimited` and `isCounted`. */
export const insertions = (reminders?: ReminderMoves) =>
  [false, true].map((isLimited) => [false, true].map((isCounted) => insertionOf(isLimited, isCounted, reminders)));
export type Insertions = ReturnType<typeof insertions>;
/** Those after which somebody else moves the reminders. */
export const UNMOVED = insertions();

/** Completes the idempotency keys of the creates, each while its claim holds. */
const keepReplies = (sql: Sql): Fragment => sql`
      update idempotency_keys k
      set status = q.status, reply = q.reply
      from claim q
      where k.org_id = q."orgId"
        and k.scope = q.scope
        and k.key = q.key
        and k.claim = q.claim
        and q.n not in (select n from unknown_channels)
      returning q.n`;

/** The labels of the item `i`. */
const labelsOfItem = (sql: Sql): Labels => ({ group: sql`i."group"`, tags: sql`i."tagIds"` });

/** When the item `i` is to go out, to the millisecond as dates are given (S104); without a date at once. */
const dateOfItem = (sql: Sql): Fragment => sql`coalesce(i."publishDate", date_trunc('milliseconds', now()))`;

const insertItems = (sql: Sql): Fragment => sql`
      insert into posts (
        ${post.names(sql, 'create')}, org_id, state, detail, content_clean, publish_date, due_at, created_by,
        approval_state, approval_by, approval_at, approval_hash, on_brake
      )
      select ${post.values(sql, 'create', 'i')}, c.org_id,
        case when h.held then 'DRAFT' else i.state end,
        case when h.held then 'awaiting_approval' when i.state = 'QUEUE' then ${queuedDetail(sql, labelsOfItem(sql))} end, true,
        ${dateOfItem(sql)},
        case when i.state = 'QUEUE' and not h.held and i."rootPostId" is null then ${dateOfItem(sql)} end,
        i."createdBy",
        case when h.asked then 'awaiting' when h.approved then 'approved' end,
        case when h.asked then i."createdBy" when h.approved then i."approvalBy" end,
        case when h.asked then now() when h.approved then i."approvalAt" end,
        case when h.approved then i."approvalHash" end,
        i.state = 'QUEUE' and not h.held and ${braked(sql, labelsOfItem(sql))}
      from item i
      join channel c on c.id = i."channelId" and c.org_id = i."orgId"
      cross join lateral (
        select held, held and i."rootPostId" is null as asked,
          i."approvalHash" is not null and i."rootPostId" is null as approved
        from (
          select i.state = 'QUEUE' and i."approvalHash" is null and not i."waitsForRoom"
            and ${isHeld(sql, sql`c.approval_required`, sql`i."schedulesFreely"`)} as held
        ) q
      ) h
      where i.n not in (select n from refused)
      order by i.ordinal
      on conflict (id) do nothing
      returning ${post.names(sql, 'fact')}, approval_state, on_brake`;

/**
 * The channels of the items, locked, and the creates that name one which is not there, or which somebody else has
 * locked.
 */
const lockedChannels = (sql: Sql): Fragment => sql`
    channel as materialized (
      select c.*
      from (select distinct "orgId", "channelId" from item order by "channelId") i
      cross join lateral (
        select c.id, c.org_id, c.provider_id, c.name, c.next_due_at, c.disabled, c.refresh_needed, c.brakes,
          ${approvalSetting(sql, sql`c.org_id`)} as approval_required
        from channels c
        where c.id = i."channelId"
          and c.org_id = i."orgId"
          and c.deleted_at is null
        for no key update of c
        skip locked
      ) c
    ), elsewhere as (
      select i.n, c.id is not null as there
      from item i
      left join channels c on c.id = i."channelId" and c.org_id = i."orgId" and c.deleted_at is null
      where not exists (select from channel k where k.id = i."channelId" and k.org_id = i."orgId")
    ), unknown_channels as (
      select n, bool_and(there) as locked
      from elsewhere
      group by n
    )`;

/** Lowers the next due times of channels whose new posts are due earlier; `remind` where the reminder has to move. */
const channelsUpdated = (sql: Sql, horizonMs: Fragment): Fragment => sql`
    waiting as (
      select org_id, channel_id, min(due_at) as due_at
      from inserted
      where detail = 'scheduled'
        and due_at is not null
      group by org_id, channel_id
    ), earlier as (
      select w.*, w.due_at < coalesce(c.next_due_at, 'infinity')
          and w.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' as remind
      from waiting w
      join channel c on c.id = w.channel_id
    ), channels_updated as (
      update channels c
      set due_version = c.due_version + 1,
        next_due_at = least(c.next_due_at, w.due_at),
        reminder_due_at = case when w.remind then w.due_at else c.reminder_due_at end
      from earlier w
      where c.id = w.channel_id
        and c.org_id = w.org_id
    )`;
