import { dealt, type Fragment, type Sql } from '../../../platform/db/index.ts';
import { type Clock, newId } from '../../../platform/kernel/index.ts';
import { AHEAD_LEASE_MS, AHEAD_MS, LATE_ROOT_MS, LEAST_AHEAD_MS, READY_TOO_EARLY_MS } from '../rules.ts';
import { insertTimeline } from '../journal.ts';
import { preparable, preparableBehind, ready } from '../state.ts';
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
  /** The item before it in its thread is not out: its steps can name none. */
  isBehind: boolean;
  /** By the database's clock: until it goes out, and until the item before it does, each at the earliest. */
  missingMs: number;
  parentMissingMs: number;
}
/**
 * What is prepared: posts with files on `networks`, as `id@version`, of which those in `behind` need no item to be out
 * for the next one, and posts with files that lie below none of `ownAddresses`. Files are media, and what
 * `fileSettings` name.
 */
export interface Preparable {
  networks: readonly string[];
  behind: readonly string[];
  fileSettings: readonly { network: string; setting: string }[];
  ownAddresses: readonly string[];
}

/** The network of the channel `c`, as `id@version`. */
const network = (sql: Sql): Fragment => sql`c.provider_id || '@' || c.provider_version`;

/** Rows (path) with the addresses of the files of `p`; one that is named by its id alone has none. */
const filesOfRow = (sql: Sql, { fileSettings }: Preparable): Fragment => sql`(
      select m ->> 'path' as path
      from jsonb_array_elements(p.media) m
      union all
      select case jsonb_typeof(p.settings -> f.setting)
        when 'string' then p.settings ->> f.setting
        else p.settings -> f.setting ->> 'path' end
      from unnest(
        ${fileSettings.map((one) => one.network)}::text[],
        ${fileSettings.map(({ setting }) => setting)}::text[]
      ) as f (network, setting)
      where f.network = ${network(sql)}
        and p.settings -> f.setting not in ('null', '""')
    ) files`;

const ms = (sql: Sql, time: number): Fragment => sql`${time}::float8 * interval '1 ms'`;
/** When `p` goes out, at the earliest: of an item behind others after the delays of all of them. */
const comes = (sql: Sql): Fragment => sql`
  case
    when p.root_post_id is null then p.publish_date
    when p.due_at is not null then p.due_at
    else p.publish_date + (
      select sum(q.delay_minutes) * interval '1 minute'
      from posts q
      where q.org_id = p.org_id
        and q.root_post_id = p.root_post_id
        and q.seq <= p.seq
    )
  end`;

/** The first item of a thread, near its date. */
const isRoot = (sql: Sql): Fragment => sql`
  ${preparable(sql)}
    and p.publish_date <= now() + ${ms(sql, AHEAD_MS)}
    and p.publish_date > now() + ${ms(sql, LEAST_AHEAD_MS)}`;
/** An item that waits for the one before it, once the date of its root, which nothing holds up, is near. */
const isBehindOthers = (sql: Sql): Fragment => sql`
  ${preparableBehind(sql)}
    and p.due_at is null
    and p.publish_date <= now() + ${ms(sql, AHEAD_MS)}
    and p.publish_date > now() - ${ms(sql, LATE_ROOT_MS)}
    and exists (
      select
      from posts r
      where r.id = p.root_post_id
        and r.org_id = p.org_id
        and r.state in ('QUEUE', 'PUBLISHED')
        and r.detail is distinct from 'paused'
        and r.deleted_at is null
    )`;
/** An item that waits for its delay alone: the one before it is out. */
const isDelayed = (sql: Sql): Fragment => sql`
  ${preparableBehind(sql)}
    and p.due_at > now() + ${ms(sql, LEAST_AHEAD_MS)}`;

/**
 * `p` in the channel `c` has something to prepare, there is time for it, and nobody does it. What an attempt at an item
 * has saved is the next attempt's.
 */
const isOpen = (sql: Sql, what: Preparable): Fragment => sql`
  (p.prepare_at is null or p.prepare_at <= now())
    and (p.root_post_id is null or p.attempt = 0)
    and ${works(sql)}
    and ${comes(sql)} > now() + ${ms(sql, LEAST_AHEAD_MS)}
    and exists (
      select
      from ${filesOfRow(sql, what)}
      where p.due_at is not null and ${network(sql)} = any(${[...what.networks]}::text[])
        or ${network(sql)} = any(${[...what.behind]}::text[])
        or path <> '' and not path ^@ any(${[...what.ownAddresses]}::text[])
    )`;

/** Selects posts that can be prepared now, for a scan over all organizations, dealt over them. */
export function unpreparedPosts(sql: Sql, what: Preparable, limit: number): Fragment {
  const waiting = (condition: Fragment) => sql`
        select p.org_id as "orgId", p.id as "postId", coalesce(p.due_at, p.publish_date) as at
        from posts p
        join channels c on c.id = p.channel_id and c.org_id = p.org_id
        where ${condition}
          and ${isOpen(sql, what)}`;
  return sql`
  select 'prepare' as work, "orgId", "postId", now() as now
  from ${dealt(
    sql,
    sql`${waiting(isRoot(sql))}
        union all ${waiting(isBehindOthers(sql))}
        union all ${waiting(isDelayed(sql))}`,
    limit,
  )} unprepared`;
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
      and (${isRoot(sql)} or ${isBehindOthers(sql)} or ${isDelayed(sql)})
      and ${isOpen(sql, what)}
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
