import { type Fragment, groupCommit, LOCKED, prepared, type Sql } from '../../../platform/db/index.ts';
import { pauseMessage, timeline } from '../journal.ts';
import { PARENT_FAILED, post } from '../row.ts';
import { braked, inFlight, labelsOf, orgIsDisabled, outcomeUnknown } from '../state.ts';
import { claimedColumns, claimedOf, type ClaimedRow } from './attempt-row.ts';
import { claimedEntry, claimPicked } from './claim-pieces.ts';
import { settleFacts } from './settle-facts.ts';
import { byChannel, moveSlots, pickNext } from './settle-slots.ts';
import { abandonLaterItems, openNextItems } from './settle-thread.ts';
import type { SettledAttempt, Settlement, SettleOptions } from './settlement.ts';

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
      {
        from: sql`settled`,
        kind: sql`case detail when 'awaiting_approval' then 'approval_requested' else kind end`,
        message: sql`case detail when 'awaiting_approval' then 'Waits for approval before it is tried again' else message end`,
        data: sql`nullif(data, 'null')`,
      },
      claimedEntry(sql),
      { from: sql`abandoned`, kind: 'failed', message: PARENT_FAILED },
      {
        from: sql`opened where is_paused`,
        kind: 'paused',
        message: sql`case when disabled then 'The organization was disabled' else ${pauseMessage(sql)} end`,
      },
    )}, ${settleFacts(sql, lateMs)}, ${followUps.plan(sql, sql`(select * from settled where state in ('PUBLISHED', 'ERROR'))`)}
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

/**
 * A person may have logged in, stopped the channel or put a brake on it, and an operator have disabled the organization,
 * since the attempt began.
 */
const detailNow = (sql: Sql): Fragment => sql`case
            when ${heldNow(sql)} then 'awaiting_approval'
            when ${brakedNow(sql)} then 'paused'
            when i.detail in ('scheduled', 'retrying', 'paused') and ${orgIsDisabled(sql)} then 'paused'
            when i.detail = 'paused' and not c.stopped then 'retrying'
            when i.detail in ('scheduled', 'retrying') and c.stopped then 'paused'
            else i.detail
          end`;

/** What would go on, but its thread was changed while it was sent, and waits for approval. */
const heldNow = (sql: Sql): Fragment => sql`(
            i.detail in ('scheduled', 'retrying', 'paused')
            and exists (
              select
              from posts r
              where r.org_id = p.org_id
                and r.id = coalesce(p.root_post_id, p.id)
                and r.approval_state = 'awaiting'
            )
          )`;

/** What would go on but for a brake. */
const brakedNow = (sql: Sql): Fragment => sql`(
            i.detail in ('scheduled', 'retrying', 'paused')
            and not c.stopped
            and ${braked(sql, labelsOf(sql))}
          )`;

/** Never before the date, should the clock have been set back. */
const dueNow = (sql: Sql): Fragment => sql`case
            when ${heldNow(sql)} then null
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
        set state = case when ${heldNow(sql)} then 'DRAFT' else i.state end, updated_at = now(),
          error_kind = i."errorKind",
          error = i.error,
          detail = ${detailNow(sql)},
          on_brake = coalesce(${brakedNow(sql)} and not ${heldNow(sql)}, false),
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
