import { type Fragment, groupCommit, type Json, LOCKED, prepared, type Sql } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import { announce, type Topic } from '../../../platform/outbox/index.ts';
import {
  failedFact,
  pausedFact,
  pauseMessage,
  pauseReason,
  postFact,
  releasedFact,
  timeline,
  withChannel,
} from '../journal.ts';
import type { FollowUpsPort } from '../ports.ts';
import { PARENT_FAILED, post } from '../row.ts';
import {
  behindAnother,
  braked,
  dueAfterParent,
  inFlight,
  labelsOf,
  orgIsDisabled,
  outcomeUnknown,
  queuedDetail,
  ready,
} from '../state.ts';
import type { Attempt, ClaimedPost } from './attempt.ts';
import {
  claimedColumns,
  claimedEntry,
  claimedOf,
  type ClaimedRow,
  claimPicked,
  earliestDue,
  hostIsHeard,
} from './claim.ts';

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
  /** Nothing of the channel goes out before the next attempt. */
  rests: boolean;
  /** Counts towards giving up. */
  failed: boolean;
  /** `hold`: kept for a while from now on; `keep`: as long as was said before. */
  slot: 'free' | 'hold' | 'keep';
  kind: string;
  message: string;
  data: Json;
  /** The fact that is announced of it. */
  topic: Extract<Topic, 'post.published' | 'post.failed' | 'post.unconfirmed' | 'post.retrying' | 'post.paused'> | null;
  /** Of a failure: whether a person may try the same again. */
  retryable: boolean;
  /** What the attempt saved is of no use any more. */
  forgets: boolean;
  /** Unconfirmed, and whoever wakes its channel sends it again. */
  resends: boolean;
  /** Where it is published, the same commit takes the next post of the channel that is due already. */
  claimsNext?: boolean;
}

/**
 * `leaseMs`: how long a slot that is claimed is held without news. `unconfirmedMs`: how long that of an unconfirmed
 * post is kept. `lateMs`: a post published later than this is announced as late.
 */
export interface SettleOptions {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  incarnation: string;
  leaseMs: number;
  unconfirmedMs: number;
  lateMs: number;
  followUps: Pick<FollowUpsPort, 'plan'>;
}

/** An attempt that was still the row's own, and when its question is due by the database's clock. */
export interface SettledAttempt {
  lookUpAt: Date | null;
  /** The next post of the channel, claimed in the same commit. Undefined says nothing: who wants to know asks. */
  next?: ClaimedPost | undefined;
  /** The post, this one or the first item of its thread, that something follows now. */
  followed?: string | undefined;
}
type Row = {
  n: number;
  channelId: string;
  settled: boolean;
  locked: boolean;
  lookUpAt: Date | null;
  followed: string | null;
} & ({ postId: null } | ClaimedRow);

/**
 * For each attempt that was still the row's own: fact, slot, timeline and outbox in one commit for all who report now.
 * The slot of a post that is published goes on to the next one of its channel, under all the conditions of the claim;
 * where that one is of the same thread, or the thread goes on, the asker takes it: this statement's snapshot does not
 * show what it settles itself.
 */
export function settleOf({ clock, incarnation, leaseMs, unconfirmedMs, lateMs, followUps }: SettleOptions) {
  const settle = prepared<{ input: string }, Row>(
    (sql, value) => sql`
    with input as (${inputOf(sql, value('input'))}
    ), channel as materialized (${lockedChannels(sql)}
    ), settled as (${settlePosts(sql, incarnation)}
    ), opened as (${openNextItems(sql)}
    ), abandoned as (${abandonLaterItems(sql)}
    ), ended as (${byChannel(sql)}
    ), picked as materialized (${pickNext(sql, incarnation)}
    ), claimed as (${claimPicked(sql, incarnation)}, c.n
    ), slots as (${moveSlots(sql, { incarnation, leaseMs, unconfirmedMs })}
    ), ${timeline(
      sql,
      { from: sql`settled`, kind: sql`kind`, message: sql`message`, data: sql`nullif(data, 'null')` },
      claimedEntry(sql),
      { from: sql`abandoned`, kind: 'failed', message: PARENT_FAILED },
      {
        from: sql`opened where is_paused`,
        kind: 'paused',
        message: sql`case when disabled then 'The organization was disabled' else ${pauseMessage(sql)} end`,
      },
    )}, ${facts(sql, lateMs)}, ${followUps.plan(sql, sql`(select * from settled where state in ('PUBLISHED', 'ERROR'))`)}
    select i.n, i."channelId", s.n is not null as settled, s.look_up_at as "lookUpAt",
      u.post_id as followed, ${isLocked(sql)} as locked,${claimedColumns(sql)}
    from input i
    left join channel k on k.id = i."channelId" and k.org_id = i."orgId"
    left join settled s on s.n = i.n
    left join follow_ups u on u.post_id = coalesce(s.root_post_id, s.id)
    left join claimed t on t.n = i.n`,
  );
  return groupCommit(
    async (sql: Sql, rows: readonly Settlement[]): Promise<(SettledAttempt | undefined | typeof LOCKED)[]> => {
      const heldSince = clock.monotonic();
      const input = rows.map((row, n) => ({ ...row, released: row.released ?? null, n }));
      const found = await settle(sql, { input: JSON.stringify(input) });
      const settled: (SettledAttempt | undefined | typeof LOCKED)[] = rows.map(() => undefined);
      for (const row of found) {
        if (row.locked) settled[row.n] = LOCKED;
        else if (row.settled)
          settled[row.n] = {
            lookUpAt: row.lookUpAt,
            next: row.postId === null ? undefined : claimedOf(row, incarnation, heldSince),
            followed: row.followed ?? undefined,
          };
      }
      return settled;
    },
    { clock },
  );
}

const inputOf = (sql: Sql, input: Fragment): Fragment => sql`
        select *
        from json_to_recordset(${input}::text::json) as t (
          n int, "orgId" uuid, "channelId" uuid, "postId" uuid, attempt int, incarnation text, state text, detail text,
          "errorKind" text, error text, "releaseId" text, "releaseUrl" text, released jsonb, "dueInMs" float8,
          "lookUpInMs" float8, failed boolean, slot text, kind text, message text, data jsonb, topic text,
          retryable boolean, forgets boolean, "claimsNext" boolean, rests boolean
        )`;

/**
 * Without channels that have got another `due_version` since the snapshot of this statement was taken: that shows their
 * organization as it was before, though it may be enabled or disabled by now.
 */
const lockedChannels = (sql: Sql): Fragment => sql`
        select c.*
        from (select distinct "orgId", "channelId" from input order by "channelId") i
        cross join lateral (
          select c.*, c.disabled or c.refresh_needed as stopped
          from channels c
          where c.id = i."channelId"
            and c.org_id = i."orgId"
            and c.due_version = (select s.due_version from channels s where s.id = c.id) -- c: once locked, the newest
          for no key update of c
          skip locked
        ) c`;

/** The channel of `i` is there, and somebody else has it locked or has changed it; `k` is its row otherwise. */
const isLocked = (sql: Sql): Fragment => sql`
        k.id is null
          and exists (select from channels c where c.id = i."channelId" and c.org_id = i."orgId")`;

/** The items of a thread that wait for one that is published have their time; `is_paused`: and wait from now on. */
const openNextItems = (sql: Sql): Fragment => sql`
        update posts p
        set due_at = ${dueAfterParent(sql)}, updated_at = now(),
          detail = case when b.is_paused then 'paused' else p.detail end,
          on_brake = p.on_brake or b.is_paused and ${braked(sql, labelsOf(sql))}
        from settled s
        join channel c on c.id = s.channel_id
        cross join lateral (
          select p.id, d.disabled,
            p.detail <> 'paused' and (d.disabled or ${queuedDetail(sql, labelsOf(sql))} = 'paused') as is_paused
          from posts p
          cross join lateral (select ${orgIsDisabled(sql)} as disabled) d
          where p.parent_post_id = s.id
            and p.org_id = s.org_id
            and ${behindAnother(sql)}
        ) b
        where s.state = 'PUBLISHED'
          and p.id = b.id
          and p.org_id = s.org_id
        returning ${post.names(sql, 'fact', 'p')}, p.on_brake, b.is_paused, b.disabled`;

/** The items behind one that has failed are given up with it. */
const abandonLaterItems = (sql: Sql): Fragment => sql`
        update posts p
        set state = 'ERROR', detail = null, error_kind = s.error_kind, error = ${PARENT_FAILED}, updated_at = now()
        from settled s
        where s.state = 'ERROR'
          and p.root_post_id = coalesce(s.root_post_id, s.id)
          and p.org_id = s.org_id
          and p.seq > s.seq
          and p.state = 'QUEUE'
          and p.deleted_at is null
        returning p.id, p.org_id`;

/**
 * What the attempts of a channel leave to it; `n` and `thread` are of the one whose slot goes on: a slot has one post.
 * Made from all channels, whose number the planner knows: of an update it expects one row, and would join what many
 * attempts left by nested loops, in the square of their number.
 */
const byChannel = (sql: Sql): Fragment => sql`
        select c.id as channel_id,
          array_agg(s.id) filter (where s.slot = 'free') as freed,
          array_agg(s.id) filter (where s.slot = 'hold') as held,
          min(s.due_at) filter (where ${ready(sql, 's')}) as due_at,
          max(s.due_at) filter (where s.rests) as rests_until,
          min(s.n) filter (where s.goes_on) as n,
          (array_agg(coalesce(s.root_post_id, s.id)) filter (where s.goes_on))[1] as thread
        from channel c
        left join settled s on s.channel_id = c.id
        group by c.id
        having count(s.id) > 0`;

/** Each channel with what its attempts leave, and `post_id`: the next post, of another thread, where its slot goes on. */
const pickNext = (sql: Sql, incarnation: string): Fragment => sql`
        select c.*, e.freed, e.held, e.due_at, e.rests_until, e.n, q.id as post_id
        from ended e
        join channel c on c.id = e.channel_id
        left join lateral (
          select q.id
          from (${earliestDue(sql)}
          ) q
          where e.n is not null
            and e.rests_until is null
            and ${hostIsHeard(sql, incarnation)}
            and e.channel_id not in (select channel_id from opened)
            and q.root_post_id is distinct from e.thread
        ) q on true`;

/**
 * A person may have logged in, stopped the channel or put a brake on it, and an operator have disabled the organization,
 * since the attempt began.
 */
const detailNow = (sql: Sql): Fragment => sql`case
            when ${brakedNow(sql)} then 'paused'
            when i.detail in ('scheduled', 'retrying', 'paused') and ${orgIsDisabled(sql)} then 'paused'
            when i.detail = 'paused' and not c.stopped then 'retrying'
            when i.detail in ('scheduled', 'retrying') and c.stopped then 'paused'
            else i.detail
          end`;

/** What would go on but for a brake. */
const brakedNow = (sql: Sql): Fragment => sql`(
            i.detail in ('scheduled', 'retrying', 'paused')
            and not c.stopped
            and ${braked(sql, labelsOf(sql))}
          )`;

/** Never before the date, should the clock have been set back. */
const dueNow = (sql: Sql): Fragment => sql`case
            when i.detail = 'paused' and not c.stopped then now() + interval '10 seconds'
            else coalesce(
              greatest(now() + i."dueInMs" * interval '1 ms', case
                when i."dueInMs" is not null then p.publish_date end),
              p.due_at
            )
          end`;

/** What each attempt writes to its post, while the row is still the attempt's own. */
const settlePosts = (sql: Sql, incarnation: string): Fragment => sql`
        update posts p
        set state = i.state, updated_at = now(),
          error_kind = i."errorKind",
          error = i.error,
          detail = ${detailNow(sql)},
          on_brake = coalesce(${brakedNow(sql)}, false),
          deleted_at = coalesce( -- it goes with its channel, and comes back with it
            p.deleted_at,
            case when i.detail in ('scheduled', 'retrying', 'paused') then c.deleted_at end
          ),
          release_id = coalesce(i."releaseId", p.release_id),
          release_url = coalesce(i."releaseUrl", p.release_url),
          released = coalesce(nullif(i.released, 'null'), p.released),
          published_at = case when i.state = 'PUBLISHED' then now() else p.published_at end,
          due_at = ${dueNow(sql)},
          look_up_at = now() + i."lookUpInMs" * interval '1 ms',
          look_ups = p.look_ups + case when ${outcomeUnknown(sql)} then 1 else 0 end,
          attempts_failed = p.attempts_failed + i.failed::int,
          saved = case when not i.forgets then p.saved end
        from input i
        join channel c on c.id = i."channelId" and c.org_id = i."orgId"
        where p.id = i."postId"
          and p.org_id = i."orgId"
          and p.channel_id = i."channelId"
          and p.attempt = i.attempt
          and p.incarnation = i.incarnation
          and ${inFlight(sql)}
        returning ${post.names(sql, 'fact', 'p')}, p.seq, p.look_up_at, p.on_brake,
          p.detail = 'paused' and ${orgIsDisabled(sql)} as disabled,
          case when i.state = 'PUBLISHED' and p.root_post_id is null then p.settings end as settings,
          i.n, i.slot, i.kind, i.message, i.data, i.topic, i.retryable, i.rests,
          i."claimsNext" and i.state = 'PUBLISHED' and i.slot = 'free' and c.slot_post_id = p.id
            and c.slot_incarnation = ${incarnation} and not c.stopped and c.deleted_at is null as goes_on`;

/** Frees slots, keeps them for unconfirmed posts, or hands them on to what was claimed. */
const moveSlots = (
  sql: Sql,
  { incarnation, leaseMs, unconfirmedMs }: Pick<SettleOptions, 'incarnation' | 'leaseMs' | 'unconfirmedMs'>,
): Fragment => sql`
        update channels c
        set slot_incarnation = case
            when k.post_id is not null then ${incarnation}
            when c.slot_post_id = any(k.freed) then null
            else c.slot_incarnation
          end,
          slot_until = case
            when k.post_id is not null then now() + ${leaseMs}::float8 * interval '1 ms'
            when c.slot_post_id = any(k.freed) then null
            when c.slot_post_id = any(k.held) then now() + ${unconfirmedMs}::float8 * interval '1 ms'
            else c.slot_until
          end,
          slot_post_id = case
            when k.post_id is not null then k.post_id
            when c.slot_post_id = any(k.freed) then null
            else c.slot_post_id
          end,
          resting_until = coalesce(k.rests_until, c.resting_until),
          next_due_at = greatest(k.rests_until, least(
            c.next_due_at,
            k.due_at,
            (select min(o.due_at) from opened o where o.channel_id = c.id and o.detail = 'scheduled')
          )),
          due_version = c.due_version + 1
        from picked k
        where c.id = k.id`;

/** The facts of what was settled. Only a first item is announced as published. */
function facts(sql: Sql, lateMs: number): Fragment {
  const of = (where: Fragment) => withChannel(sql, sql`(select * from settled where ${where})`, sql`channel`);
  const latenessMs = sql`round(extract(epoch from now() - publish_date) * 1000)`;
  return announce(sql, {
    'post.published': { from: of(sql`topic = 'post.published' and root_post_id is null`), payload: releasedFact(sql) },
    'post.failed': {
      from: of(sql`topic = 'post.failed'`),
      payload: { ...failedFact(sql), detail: sql`null`, attempts: sql`attempts_failed`, retryable: sql`retryable` },
    },
    'post.unconfirmed': {
      from: of(sql`topic = 'post.unconfirmed'`),
      payload: { ...postFact(sql), state: sql`state`, detail: sql`detail`, error: sql`error` },
    },
    'post.retrying': {
      from: of(sql`topic = 'post.retrying' and detail <> 'paused'`),
      payload: { ...failedFact(sql), detail: sql`detail`, attempt: sql`attempts_failed`, nextAttemptAt: sql`due_at` },
    },
    'post.paused': {
      from: withChannel(
        sql,
        sql`(
          select ${post.names(sql, 'fact', 's')}, s.on_brake, s.disabled
          from settled s
          where s.state = 'QUEUE'
            and s.detail = 'paused'
          union all
          select ${post.names(sql, 'fact', 'o')}, o.on_brake, o.disabled
          from opened o
          where o.is_paused
        )`,
        sql`channel`,
      ),
      payload: pausedFact(sql, sql`case when disabled then 'instance' else ${pauseReason(sql)} end`),
    },
    'post.late': {
      from: of(
        sql`
          state = 'PUBLISHED' and root_post_id is null and now() - publish_date > ${lateMs}::float8 * interval '1 ms'`,
      ),
      payload: { ...releasedFact(sql), latenessMs },
    },
  });
}
