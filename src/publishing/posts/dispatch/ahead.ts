import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { type Clock, newId } from '../../../platform/kernel/index.ts';
import { AHEAD_LEASE_MS, AHEAD_MS, READY_TOO_EARLY_MS } from '../rules.ts';
import { insertTimeline } from '../journal.ts';
import { ready } from '../state.ts';
import type { ClaimedPost } from './attempt.ts';
import { attemptColumns, type AttemptRow, claimedOf, snapshot } from './attempt-row.ts';
import { comes, isPreparable, ms, type Preparable } from './preparable.ts';

// The rows of posts that are prepared ahead of the publish date: by networks, and by fetching what lies outside. No
// attempt, and no slot of a channel: whatever is written here is refused from the moment in which the post is claimed,
// edited or deleted, or another one prepares it.

/** A post that is being prepared; `attempt` is the one to come. */
export interface Preparation extends ClaimedPost {
  /** Of this preparation alone. */
  id: string;
  /** The item before it in its thread is not out: its steps can name none. */
  isBehind: boolean;
  /** By the database's clock: until it goes out, and until the item before it does, each at the earliest. */
  missingMs: number;
  parentMissingMs: number;
}

/** Takes a post for preparing it, if nobody else does. */
export async function takePreparation(
  sql: Sql,
  clock: Pick<Clock, 'monotonic'>,
  { orgId, postId, ...what }: Preparable & { orgId: string; postId: string },
): Promise<Preparation | undefined> {
  const id = newId();
  const heldSince = clock.monotonic();
  const [row] = await sql<(AttemptRow & { missingMs: number; delayMs: number; isBehind: boolean; now: Date })[]>`
    update posts p
    set preparation = ${id}, prepare_at = now() + ${ms(sql, AHEAD_LEASE_MS)}
    from channels c
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and c.id = p.channel_id
      and c.org_id = p.org_id
      and ${isPreparable(sql, what)}
    returning p.channel_id as "channelId", ${snapshot(sql)} as channel, now() as now, p.due_at is null as "isBehind",
      (extract(epoch from ${comes(sql)} - now()) * 1000)::float8 as "missingMs",
      p.delay_minutes * 60000 as "delayMs",${attemptColumns(sql, 'p')}`;
  if (!row) return undefined;
  const { now, missingMs, delayMs, isBehind, ...read } = row;
  const coming = { ...read, attempt: row.attempt + 1, claimedAt: now, lateMs: 0 };
  return { ...claimedOf(coming, '', heldSince), id, isBehind, missingMs, parentMissingMs: missingMs - delayMs };
}

/** Whose results are written: while nobody else prepares the post, and it waits with what it had. */
const still = (sql: Sql, { orgId, postId, id, attempt }: Preparation): Fragment => sql`
  p.org_id = ${orgId}
    and p.id = ${postId}
    and p.preparation = ${id}
    and p.attempt = ${attempt} - 1
    and ${ready(sql)}
    and p.deleted_at is null`;

/** Gives a sign of life. False: somebody else has the post, or it has changed. */
export async function keepPreparation(sql: Sql, preparation: Preparation): Promise<boolean> {
  const rows = await sql`
    update posts p
    set prepare_at = now() + ${ms(sql, AHEAD_LEASE_MS)}
    where ${still(sql, preparation)}
    returning p.id`;
  return rows.length > 0;
}

/** Writes what the adapter wants to find again. False: it is refused. */
export async function saveAhead(sql: Sql, preparation: Preparation, value: unknown): Promise<boolean> {
  const rows = await sql`
    update posts p
    set prepare_at = now() + ${ms(sql, AHEAD_LEASE_MS)},
      saved = jsonb_build_object(
        'value', ${JSON.stringify(value ?? null)}::text::jsonb,
        'since', (${comes(sql)})::text, -- time until then is a gift, and does not count
        'ahead', jsonb_build_object('attempt', ${preparation.attempt}::int, 'at', now(), 'isReady', false)
      )
    where ${still(sql, preparation)}
    returning p.id`;
  return rows.length > 0;
}

/** What the timeline says of media that could not be had. */
const MEDIA_FAULT = 'retry_planned';

/** Says in the timeline that media could not be had, the first time that they are prepared for this attempt. */
export const noteMediaFault = (sql: Sql, preparation: Preparation, reason: string) => sql`
  ${insertTimeline(sql, {
    from: sql`(
      select p.org_id, p.id
      from posts p
      where ${still(sql, preparation)}
        and not exists (
          select
          from post_timeline t
          where t.org_id = p.org_id
            and t.post_id = p.id
            and t.kind = ${MEDIA_FAULT}
            and t.data ->> 'ahead' = ${`${preparation.attempt}`}
        )
    ) unfetched`,
    kind: MEDIA_FAULT,
    message: 'Pictures or videos of the post could not be fetched yet; they are tried again until its date',
    data: sql`${JSON.stringify({ ahead: preparation.attempt, reason })}::text::jsonb`,
  })}`;

/** What is ready long before it goes out is of no use any more then, and is made ready again. */
const nextAfterReady = (sql: Sql): Fragment => sql`
    case
      when ${comes(sql)} > now() + ${ms(sql, READY_TOO_EARLY_MS)} then ${comes(sql)} - ${ms(sql, AHEAD_MS)}
      else 'infinity' end`;

/** The network is ready for the attempt, which goes on from what was saved. */
export const noteReady = (sql: Sql, preparation: Preparation) => sql`
  update posts p
  set preparation = null, prepare_at = ${nextAfterReady(sql)},
    saved = p.saved || jsonb_build_object(
      'ahead', jsonb_build_object('attempt', ${preparation.attempt}::int, 'at', now(), 'isReady', true)
    )
  where ${still(sql, preparation)}`;

/** Lets go of a post, for anybody to go on after so long; undefined: nobody does before its attempt. */
export const leavePreparation = (sql: Sql, preparation: Preparation, againMs: number | undefined) => sql`
  update posts p
  set preparation = null,
    prepare_at = coalesce(now() + ${againMs ?? null}::float8 * interval '1 ms', 'infinity')
  where ${still(sql, preparation)}`;
