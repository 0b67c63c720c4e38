import { groupCommit, type Json, LOCKED, type Sql } from '../../db/index.ts';
import type { Attempt } from '../attempt.ts';

/** What one attempt's end writes. `null` leaves a time as it is. */
export interface Settlement extends Attempt {
  state: 'QUEUE' | 'PUBLISHED' | 'ERROR';
  detail: 'scheduled' | 'retrying' | 'paused' | 'processing' | 'unconfirmed' | null;
  errorKind: string | null;
  error: string | null;
  releaseId: string | null;
  releaseUrl: string | null;
  released: unknown;
  /** The next attempt, from now. */
  dueInMs: number | null;
  /** The next look-up or poll, from now. */
  lookUpInMs: number | null;
  /** Counts towards giving up. */
  failed: boolean;
  /** `hold`: kept for a while from now on; `keep`: as long as was said before. */
  slot: 'free' | 'hold' | 'keep';
  kind: string;
  message: string;
  data: Json;
  topic: string | null;
  payload: Json;
}

/** `holdMs`: how long the slot of an unconfirmed post is kept. `lateMs`: a post published later than this is announced as late. */
export interface SettleOptions {
  holdMs: number;
  lateMs: number;
}

/** An attempt that was still the row's own, and when its question is due by the database's clock. */
export interface Settled {
  lookUpAt: Date | null;
}

/** For each attempt that was still the row's own: fact, slot, timeline and outbox in one commit for all who report now. */
export const settleOf = ({ holdMs, lateMs }: SettleOptions) =>
  groupCommit(async (sql: Sql, rows: readonly Settlement[]): Promise<(Settled | undefined | typeof LOCKED)[]> => {
    const settled = await sql<(Settled & { n: number; locked: boolean })[]>`
      with input as (
        select * from json_to_recordset(${JSON.stringify(rows.map((row, n) => ({ ...row, released: row.released ?? null, n })))}::text::json) as t (
          n int, "orgId" uuid, "channelId" uuid, "postId" uuid, attempt int, incarnation text, state text, detail text, "errorKind" text, error text,
          "releaseId" text, "releaseUrl" text, released jsonb, "dueInMs" float8, "lookUpInMs" float8, failed boolean, slot text, kind text, message text, data jsonb, topic text, payload jsonb)
      ), channel as materialized (
        select c.id, c.org_id, c.stopped, c.deleted_at from (select distinct "orgId", "channelId" from input order by "channelId") i
        cross join lateral (select c.id, c.org_id, c.disabled or c.refresh_needed as stopped, c.deleted_at from channels c where c.id = i."channelId" and c.org_id = i."orgId" for no key update of c skip locked) c
      ), settled as (
        update posts p set
          state = i.state, error_kind = i."errorKind", error = i.error,
          detail = case when i.detail = 'paused' and not c.stopped then 'retrying' when i.detail in ('scheduled', 'retrying') and c.stopped then 'paused' else i.detail end, -- a person may have logged in, or stopped the channel, meanwhile
          deleted_at = coalesce(p.deleted_at, case when i.detail in ('scheduled', 'retrying', 'paused') then c.deleted_at end), -- it goes with its channel, and comes back with it
          release_id = coalesce(i."releaseId", p.release_id), release_url = coalesce(i."releaseUrl", p.release_url), released = coalesce(nullif(i.released, 'null'), p.released),
          published_at = case when i.state = 'PUBLISHED' then now() else p.published_at end,
          due_at = case when i.detail = 'paused' and not c.stopped then now() + interval '10 seconds' else coalesce(greatest(now() + i."dueInMs" * interval '1 ms', case when i."dueInMs" is not null then p.publish_date end), p.due_at) end, -- never before the date, should the clock have been set back
          look_up_at = now() + i."lookUpInMs" * interval '1 ms',
          look_ups = p.look_ups + case when p.detail in ('unconfirmed', 'processing') then 1 else 0 end,
          attempts_failed = p.attempts_failed + i.failed::int
        from input i join channel c on c.id = i."channelId" and c.org_id = i."orgId"
        where p.id = i."postId" and p.org_id = i."orgId" and p.channel_id = i."channelId" and p.attempt = i.attempt and p.incarnation = i.incarnation
          and p.state = 'QUEUE' and p.detail in ('publishing', 'processing', 'unconfirmed')
        returning p.id, p.org_id, p.channel_id, p.root_post_id, p.seq, p.state, p.detail, p.due_at, p.publish_date, p.look_up_at, i.n, i.slot, i.kind, i.message, i.data, i.topic, i.payload, i."errorKind" as error_kind
      ), opened as (
        update posts p set due_at = greatest(now() + p.delay_minutes * interval '1 minute', p.publish_date)
        from settled s
        where s.state = 'PUBLISHED' and p.parent_post_id = s.id and p.org_id = s.org_id and p.state = 'QUEUE' and p.detail in ('scheduled', 'paused') and p.due_at is null and p.deleted_at is null
        returning p.channel_id, p.due_at, p.detail
      ), abandoned as (
        update posts p set state = 'ERROR', detail = null, error_kind = s.error_kind, error = 'The item of the thread before it was not published'
        from settled s
        where s.state = 'ERROR' and p.root_post_id = coalesce(s.root_post_id, s.id) and p.org_id = s.org_id and p.seq > s.seq and p.state = 'QUEUE' and p.deleted_at is null
        returning p.id, p.org_id
      ), freed as (
        update channels c set
          slot_incarnation = case when c.slot_post_id = any(g.freed) then null else c.slot_incarnation end,
          slot_until = case when c.slot_post_id = any(g.freed) then null when c.slot_post_id = any(g.held) then now() + ${holdMs}::float8 * interval '1 ms' else c.slot_until end,
          slot_post_id = case when c.slot_post_id = any(g.freed) then null else c.slot_post_id end,
          resting_until = coalesce(g.rests_until, c.resting_until),
          next_due_at = greatest(g.rests_until, least(c.next_due_at, g.due_at, (select min(o.due_at) from opened o where o.channel_id = c.id and o.detail = 'scheduled'))),
          moves = c.moves + 1
        from (
          select channel_id, array_agg(id) filter (where slot = 'free') as freed, array_agg(id) filter (where slot = 'hold') as held,
            min(due_at) filter (where state = 'QUEUE' and detail in ('scheduled', 'retrying')) as due_at,
            max(due_at) filter (where kind = 'rate_limited') as rests_until
          from settled group by channel_id
        ) g where c.id = g.channel_id
      ), told as (
        insert into post_timeline (org_id, post_id, kind, message, data)
        select org_id, id, kind, message, nullif(data, 'null') from settled
        union all select org_id, id, 'failed', 'The item of the thread before it was not published', null from abandoned
      ), announced as (
        insert into outbox (org_id, topic, entity_id, payload)
        select org_id, topic, id, payload from settled where topic is not null and (topic <> 'post.published' or root_post_id is null)
        union all
        select org_id, 'post.late', id, jsonb_build_object('latenessMs', round(extract(epoch from now() - publish_date) * 1000)) from settled
        where state = 'PUBLISHED' and root_post_id is null and now() - publish_date > ${lateMs}::float8 * interval '1 ms'
      )
      select n, false as locked, look_up_at as "lookUpAt" from settled
      union all
      select i.n, true, null from input i join channels c on c.id = i."channelId" and c.org_id = i."orgId" where not exists (select from channel k where k.id = c.id)`;
    const found = new Map<number, Settled | typeof LOCKED>(settled.map(({ n, locked, lookUpAt }) => [n, locked ? LOCKED : { lookUpAt }]));
    return rows.map((_, n) => found.get(n));
  });
