import { dealt, type Fragment, type Sql } from '../../../platform/db/index.ts';
import { type Clock, newId } from '../../../platform/kernel/index.ts';
import { AHEAD_LEASE_MS, AHEAD_MS, LEAST_AHEAD_MS } from '../rules.ts';
import { insertTimeline } from '../journal.ts';
import { preparable, waiting } from '../state.ts';
import type { ClaimedPost } from './attempt.ts';
import { attemptColumns, type AttemptRow, claimedOf, snapshot } from './claim.ts';
import { works } from './recover.ts';

// The rows of posts that are prepared ahead of the publish date: by networks, and by fetching what lies outside. No
// attempt, and no slot of a channel: whatever is written here is refused from the moment in which the post is claimed,
// edited or deleted, or another one prepares it.

/** A post that is being prepared; `attempt` is the one to come. */
export interface Preparation extends ClaimedPost {
  /** Of this preparation alone. */
  id: string;
  /** Until the publish date, by the database's clock. */
  missingMs: number;
}
/** What is prepared: posts on `networks`, as `id@version`, and posts with media that lie below none of `ownAddresses`. */
export interface Preparable {
  networks: readonly string[];
  ownAddresses: readonly string[];
}

/** A picture or video of `p` lies outside. */
const hasOutsideMedia = (sql: Sql, ownAddresses: readonly string[]): Fragment => sql`exists (
      select
      from jsonb_array_elements(p.media) m
      where m ->> 'path' <> ''
        and not m ->> 'path' ^@ any(${[...ownAddresses]}::text[])
    )`;

/** `p` can be prepared now, in the channel `c`, and nobody does. */
const unprepared = (sql: Sql, { networks, ownAddresses }: Preparable): Fragment => sql`
  (${preparable(sql)}
    and p.publish_date > now() + ${LEAST_AHEAD_MS}::float8 * interval '1 ms'
    and p.publish_date <= now() + ${AHEAD_MS}::float8 * interval '1 ms'
    and (p.prepare_at is null or p.prepare_at <= now())
    and ${works(sql)}
    and (c.provider_id || '@' || c.provider_version = any(${networks}::text[])
      or ${hasOutsideMedia(sql, ownAddresses)}))`;

/** Selects posts that can be prepared now, for a scan over all organizations, dealt over them. */
export const unpreparedPosts = (sql: Sql, what: Preparable, limit: number): Fragment => sql`
  select 'prepare' as work, "orgId", "postId", now() as now
  from ${dealt(
    sql,
    sql`
        select p.org_id as "orgId", p.id as "postId", p.publish_date as at
        from posts p
        join channels c on c.id = p.channel_id and c.org_id = p.org_id
        where ${unprepared(sql, what)}`,
    limit,
  )} unprepared`;

/** Takes a post for preparing it, if nobody else does. */
export async function takePreparation(
  sql: Sql,
  clock: Pick<Clock, 'monotonic'>,
  { orgId, postId, ...what }: Preparable & { orgId: string; postId: string },
): Promise<Preparation | undefined> {
  const id = newId();
  const heldSince = clock.monotonic();
  const [row] = await sql<(AttemptRow & { missingMs: number; now: Date })[]>`
    update posts p
    set preparation = ${id}, prepare_at = now() + ${AHEAD_LEASE_MS}::float8 * interval '1 ms'
    from channels c
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and c.id = p.channel_id
      and c.org_id = p.org_id
      and ${unprepared(sql, what)}
    returning p.channel_id as "channelId", ${snapshot(sql)} as channel, now() as now,
      (extract(epoch from p.publish_date - now()) * 1000)::float8 as "missingMs",${attemptColumns(sql, 'p')}`;
  if (!row) return undefined;
  const { now, missingMs, ...read } = row;
  const coming = { ...read, attempt: row.attempt + 1, claimedAt: now, lateMs: 0 };
  return { ...claimedOf(coming, '', heldSince), id, missingMs };
}

/** Whose results are written: while nobody else prepares the post, and it waits with what it had. */
const still = (sql: Sql, { orgId, postId, id, attempt }: Preparation): Fragment => sql`
  p.org_id = ${orgId}
    and p.id = ${postId}
    and p.preparation = ${id}
    and p.attempt = ${attempt} - 1
    and ${waiting(sql)}`;

/** Gives a sign of life. False: somebody else has the post, or it has changed. */
export async function keepPreparation(sql: Sql, preparation: Preparation): Promise<boolean> {
  const rows = await sql`
    update posts p
    set prepare_at = now() + ${AHEAD_LEASE_MS}::float8 * interval '1 ms'
    where ${still(sql, preparation)}
    returning p.id`;
  return rows.length > 0;
}

/** Writes what the adapter wants to find again. False: it is refused. */
export async function saveAhead(sql: Sql, preparation: Preparation, value: unknown): Promise<boolean> {
  const rows = await sql`
    update posts p
    set prepare_at = now() + ${AHEAD_LEASE_MS}::float8 * interval '1 ms',
      saved = jsonb_build_object(
        'value', ${JSON.stringify(value ?? null)}::text::jsonb,
        'since', p.publish_date::text, -- time until then is a gift, and does not count
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

/** The network is ready for the attempt, which goes on from what was saved. */
export const noteReady = (sql: Sql, preparation: Preparation) => sql`
  update posts p
  set preparation = null, prepare_at = 'infinity',
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
