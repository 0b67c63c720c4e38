import type { Database, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { postFact, releasedFact, withChannel } from '../journal.ts';
import type { PostMedia } from '../row.ts';
import type { ReminderMoves } from '../ports.ts';

/** What a change does; `undefined` leaves a part as it is. Date, status, group and tags are those of the whole thread. */
export interface Change {
  version?: number | undefined;
  content?: string | undefined;
  media?: readonly PostMedia[] | undefined;
  settings?: { values: Readonly<Record<string, unknown>>; merge: boolean } | undefined;
  title?: string | null | undefined;
  description?: string | null | undefined;
  publishDate?: Date | undefined;
  group?: string | undefined;
  tagIds?: readonly string[] | undefined;
  status?: 'schedule' | 'draft' | undefined;
  /** The content was held against the network's limits; else only what is queued already can be scheduled. */
  judged?: boolean | undefined;
}

/** Why a change was refused, or `done`. `in_flight`: a request may be under way. */
export type Verdict = 'done' | 'not_found' | 'published' | 'in_flight' | 'undecided' | 'stale' | 'disabled' | 'not_failed' | 'too_old' | 'unjudged';
interface Found {
  verdict: Verdict | typeof OUTDATED;
  orgId: string;
  channelId: string;
  nearer: Date | null;
  state: string | null;
  publishDate: Date | null;
}
export interface Changed {
  verdict: Verdict;
  state: string | null;
  publishDate: Date | null;
  channelId: string | null;
}
type Target = { orgId: string; postId: string };

/** While a statement waited for the locks the thread was changed by another: it may have items that this statement cannot see, so it did nothing. */
const OUTDATED = 'outdated';
/** Runs a statement until it has seen what it locked: once, or twice where it came too late, as it holds the locks of a transaction then. */
async function seeing<F extends { verdict: Verdict | typeof OUTDATED }>(
  statement: () => PromiseLike<readonly F[]>,
): Promise<(F & { verdict: Verdict }) | undefined> {
  const isSeen = (found: F): found is F & { verdict: Verdict } => found.verdict !== OUTDATED;
  for (;;) {
    const [found] = await statement();
    if (!found || isSeen(found)) return found;
  }
}

/** Runs one change in a transaction of its own: the reminder of a channel that came nearer is moved in the same commit. */
export async function changing(
  database: Database,
  { reminders, horizonMs }: { reminders: ReminderMoves; horizonMs: number },
  statement: (sql: Sql, horizonMs: number) => Promise<Found[]>,
  after?: (sql: Sql) => Promise<void>,
): Promise<Changed> {
  const { changed, committed } = await database.begin(async (sql) => {
    const found = await seeing(() => statement(sql, horizonMs));
    if (!found || found.verdict !== 'done')
      return { changed: found ?? { verdict: 'not_found' as const, state: null, publishDate: null, channelId: null }, committed: undefined };
    await after?.(sql);
    return {
      changed: found,
      committed: found.nearer ? await reminders.within(sql, [{ orgId: found.orgId, channelId: found.channelId, dueAt: found.nearer }]) : undefined,
    };
  });
  committed?.();
  return { verdict: changed.verdict, state: changed.state, publishDate: changed.publishDate, channelId: changed.channelId };
}

/** Locks the channel and the thread of a post: `channel`, `target`, `thread` for the statement that follows. */
const locked = (sql: Sql, { orgId, postId }: Target) => sql`
  target as materialized (
    select p.id, p.channel_id, r.id as root_id, r.version from posts p join posts r on r.org_id = p.org_id and r.id = coalesce(p.root_post_id, p.id) where p.org_id = ${orgId} and p.id = ${postId} and p.deleted_at is null
  ), channel as materialized (
    select c.* from channels c where c.org_id = ${orgId} and c.id = (select channel_id from target) for no key update
  ), thread as materialized (
    select p.*, p.state = 'QUEUE' and p.detail in ('publishing', 'processing', 'unconfirmed') as flying, p.state = 'ERROR' and p.detail is not distinct from 'unconfirmed' as undecided
    from posts p join channel c on c.id = p.channel_id join target t on p.id = t.root_id or p.root_post_id = t.root_id
    where p.org_id = ${orgId} and p.deleted_at is null order by p.id for no key update of p
  )`;

/** The first case of each verdict: the root as it was when the statement began is not the one that was locked. */
const outdated = (sql: Sql) => sql`when (select version from target) <> (select version from thread where root_post_id is null) then ${OUTDATED}`;

/** What becomes due earlier than before, within the horizon. */
const moved = (sql: Sql, orgId: string, horizonMs: number) => sql`
  waiting as (
    select min(due_at) as due_at from changed where state = 'QUEUE' and detail in ('scheduled', 'retrying')
  ), nearer as (
    select w.due_at from waiting w, channel c where w.due_at < coalesce(c.next_due_at, 'infinity') and w.due_at <= now() + ${horizonMs}::float8 * interval '1 ms'
  ), moved as (
    update channels c set due_version = c.due_version + 1, next_due_at = least(c.next_due_at, (select due_at from waiting)), reminder_due_at = coalesce((select due_at from nearer), c.reminder_due_at)
    where c.org_id = ${orgId} and c.id = (select id from channel) and exists (select from changed)
  )`;

/** The facts of the posts that the CTE `changed` deletes: those of first items that were not out. */
const deletedFacts = (sql: Sql) =>
  announce(sql, {
    'post.deleted': {
      from: withChannel(sql, sql`(select * from changed where root_post_id is null and state <> 'PUBLISHED')`),
      payload: { ...postFact(sql), state: sql`state`, detail: sql`detail` },
    },
  });

/** Changes a post that is not out and not on its way: content of the item, date and status of its whole thread. */
export const edit =
  (target: Target, change: Change) =>
  (sql: Sql, horizonMs: number): Promise<Found[]> => {
    const { orgId, postId } = target;
    const whole = change.publishDate !== undefined || change.status !== undefined || change.group !== undefined || change.tagIds !== undefined;
    const has = (key: keyof Change) => change[key] !== undefined;
    return sql<Found[]>`
    with ${locked(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when t.flying or (${whole} and r.flying) then 'in_flight'
        when t.state = 'PUBLISHED' or (${whole} and r.state = 'PUBLISHED') then 'published'
        when (t.undecided or r.undecided) and ${has('status') || has('publishDate')} then 'undecided'
        when ${change.version ?? null}::int <> t.version then 'stale'
        when ${change.status === 'schedule'} and c.disabled then 'disabled'
        when (${change.status === 'schedule'} and r.state <> 'QUEUE' or ${has('publishDate')} and r.state = 'QUEUE' and ${change.status !== 'draft'})
          and coalesce(${change.publishDate ?? null}::timestamptz, r.publish_date) < now() - interval '24 hours' then 'too_old'
        when ${change.status === 'schedule'} and r.state <> 'QUEUE' and not ${change.judged ?? false} then 'unjudged'
        else 'done' end as verdict
      from (select 1) one left join thread t on t.id = ${postId} left join thread r on r.root_post_id is null left join channel c on true
    ), changed as (
      update posts p set
        content = case when p.id = ${postId} then coalesce(${change.content ?? null}::text, p.content) else p.content end,
        content_clean = p.content_clean or p.id = ${postId} and ${has('content')},
        media = case when p.id = ${postId} then coalesce(${change.media ? JSON.stringify(change.media) : null}::text::jsonb, p.media) else p.media end,
        settings = case when p.id = ${postId} and ${has('settings')} then case when ${change.settings?.merge ?? false} then p.settings else '{}' end || ${JSON.stringify(change.settings?.values ?? {})}::text::jsonb else p.settings end,
        title = case when p.id = ${postId} and ${has('title')} then ${change.title ?? null}::text else p.title end,
        description = case when p.id = ${postId} and ${has('description')} then ${change.description ?? null}::text else p.description end,
        group_id = coalesce(${change.group ?? null}::text, p.group_id),
        tag_ids = coalesce(${change.tagIds ? [...change.tagIds] : null}::uuid[], p.tag_ids),
        publish_date = coalesce(${change.publishDate ?? null}::timestamptz, p.publish_date),
        state = s.state,
        detail = case
          when ${change.status === 'draft'} then case when b.state = 'DRAFT' then b.detail else 'cancelled' end
          when s.state = 'QUEUE' and (b.state <> 'QUEUE' or b.detail = 'retrying' and ${has('publishDate')}) then case when c.refresh_needed then 'paused' else 'scheduled' end
          else b.detail end,
        due_at = case
          when s.state <> 'QUEUE' then null
          when p.root_post_id is null and (b.state <> 'QUEUE' or ${has('publishDate')}) then coalesce(${change.publishDate ?? null}::timestamptz, p.publish_date)
          when b.state <> 'QUEUE' then null
          else p.due_at end,
        error_kind = case when s.state = 'ERROR' then p.error_kind end, error = case when s.state = 'ERROR' then p.error end,
        attempts_failed = case when b.state <> s.state then 0 else p.attempts_failed end,
        version = p.version + 1, updated_at = now()
      from thread b, channel c, verdict v,
        lateral (select case when ${change.status === 'schedule'} then 'QUEUE' when ${change.status === 'draft'} then 'DRAFT' else b.state end as state) s
      where v.verdict = 'done' and p.id = b.id and p.org_id = ${orgId} and b.state <> 'PUBLISHED' and not b.flying and (b.id = ${postId} or ${whole})
      returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.state, p.detail, p.due_at, p.publish_date, b.state as state_before, b.publish_date as date_before, b.channel_id as channel_before
    ), ${moved(sql, orgId, horizonMs)}, told as (
      insert into post_timeline (org_id, post_id, kind, message, data)
      select org_id, id, case when state = 'DRAFT' and state_before = 'QUEUE' then 'cancelled' when state = 'QUEUE' and state_before <> 'QUEUE' then 'scheduled' else 'edited' end,
        case when state = 'DRAFT' and state_before = 'QUEUE' then 'Taken out of the queue' when state = 'QUEUE' and state_before <> 'QUEUE' then 'Scheduled' else 'Edited' end, jsonb_build_object('publishDate', publish_date) from changed
    ), ${announce(sql, {
      'post.scheduled': {
        from: withChannel(
          sql,
          sql`(select * from changed where root_post_id is null and state = 'QUEUE' and (state_before <> 'QUEUE' or date_before <> publish_date))`,
        ),
        payload: postFact(sql),
      },
    })}
    select v.verdict, ${orgId}::text as "orgId", (select id from channel)::text as "channelId", (select due_at from nearer) as nearer, g.state, g.publish_date as "publishDate" from verdict v left join changed g on g.id = ${postId}`;
  };

/** Puts other items behind a root; ids of earlier items may come again. In the transaction of the edit, which holds the locks. */
export async function replaceThread(
  sql: Sql,
  { orgId, postId }: Target,
  items: readonly { id: string; content: string; media: readonly PostMedia[]; delayMinutes: number }[],
): Promise<void> {
  await sql`delete from posts where org_id = ${orgId} and root_post_id = ${postId} and state <> 'PUBLISHED'`;
  if (items.length === 0) return;
  const rows = items.map((item, n) => ({ ...item, n, parentId: items[n - 1]?.id ?? postId }));
  await sql`
    insert into posts (id, org_id, channel_id, group_id, parent_post_id, root_post_id, state, detail, content, content_clean, media, settings, delay_minutes, publish_date, tag_ids, creation_method, created_by)
    select i.id, r.org_id, r.channel_id, r.group_id, i."parentId", r.id, r.state, case r.detail when 'retrying' then 'scheduled' else r.detail end, i.content, true, i.media, r.settings, i."delayMinutes", r.publish_date, r.tag_ids, r.creation_method, r.created_by
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (n int, id uuid, content text, media jsonb, "delayMinutes" int, "parentId" uuid), posts r
    where r.org_id = ${orgId} and r.id = ${postId}
    order by i.n`;
}

/** Deletes a post with what follows it in its thread. Final: nothing of it goes out any more. */
export const remove =
  (target: Target) =>
  (sql: Sql, horizonMs: number): Promise<Found[]> => {
    const { orgId, postId } = target;
    return sql<Found[]>`
    with ${locked(sql, target)}, doomed as (
      select b.* from thread b, thread t where t.id = ${postId} and (b.id = t.id or t.root_post_id is null or b.seq > t.seq)
    ), verdict as (
      select case ${outdated(sql)} when not exists (select from doomed) then 'not_found' when exists (select from doomed where flying) then 'in_flight' else 'done' end as verdict
    ), changed as (
      update posts p set deleted_at = now(), updated_at = now() from doomed b, verdict v where v.verdict = 'done' and p.id = b.id and p.org_id = ${orgId}
      returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.state, p.detail, null::timestamptz as due_at, p.publish_date
    ), ${moved(sql, orgId, horizonMs)}, told as (
      insert into post_timeline (org_id, post_id, kind, message) select org_id, id, 'cancelled', 'Deleted' from changed
    ), ${deletedFacts(sql)}
    select v.verdict, ${orgId}::text as "orgId", (select id from channel)::text as "channelId", (select due_at from nearer) as nearer, g.state, g.publish_date as "publishDate" from verdict v left join changed g on g.id = ${postId}`;
  };

/** Sends a failed post again, at once, and the items of its thread that were given up with it. */
export const retry =
  (target: Target, confirm: boolean) =>
  (sql: Sql, horizonMs: number): Promise<Found[]> => {
    const { orgId, postId } = target;
    return sql<Found[]>`
    with ${locked(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when t.state <> 'ERROR' then 'not_failed'
        when t.undecided and not ${confirm} then 'undecided'
        when exists (select from thread b where b.id = t.parent_post_id and b.state <> 'PUBLISHED') then 'not_failed'
        when c.disabled then 'disabled'
        else 'done' end as verdict
      from (select 1) one left join thread t on t.id = ${postId} left join channel c on true
    ), changed as (
      update posts p set state = 'QUEUE', detail = case when c.refresh_needed then 'paused' else 'scheduled' end, error_kind = null, error = null, attempts_failed = 0,
        publish_date = least(p.publish_date, now()), due_at = case when p.id = t.id then now() end, version = p.version + 1, updated_at = now()
      from thread b, thread t, channel c, verdict v
      where v.verdict = 'done' and t.id = ${postId} and p.id = b.id and p.org_id = ${orgId} and b.state = 'ERROR' and (b.id = t.id or b.seq > t.seq and b.attempt = 0)
      returning p.id, p.org_id, p.channel_id, p.root_post_id, p.state, p.detail, p.due_at, p.publish_date
    ), ${moved(sql, orgId, horizonMs)}, told as (
      insert into post_timeline (org_id, post_id, kind, message) select org_id, id, 'scheduled', 'Sent again by a person' from changed
    )
    select v.verdict, ${orgId}::text as "orgId", (select id from channel)::text as "channelId", (select due_at from nearer) as nearer, g.state, g.publish_date as "publishDate" from verdict v left join changed g on g.id = ${postId}`;
  };

/** A person says where the post is on the network: it counts as published, and its thread goes on. */
export const release =
  (target: Target, releaseId: string) =>
  (sql: Sql, horizonMs: number): Promise<Found[]> => {
    const { orgId, postId } = target;
    return sql<Found[]>`
    with ${locked(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when t.state = 'ERROR' or t.state = 'QUEUE' and t.detail = 'unconfirmed' or t.state = 'PUBLISHED' and coalesce(t.release_id, '') = '' then 'done'
        when t.state = 'PUBLISHED' then 'published'
        else 'not_failed' end as verdict
      from (select 1) one left join thread t on t.id = ${postId}
    ), released as (
      update posts p set state = 'PUBLISHED', detail = null, error_kind = null, error = null, release_id = ${releaseId}, published_at = coalesce(p.published_at, now()), look_up_at = null,
        version = p.version + 1, updated_at = now()
      from thread b, verdict v where v.verdict = 'done' and b.id = ${postId} and p.id = b.id and p.org_id = ${orgId}
      returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.release_url, p.state, p.detail, null::timestamptz as due_at, p.publish_date, b.state as state_before
    ), opened as (
      update posts p set state = 'QUEUE', detail = case when c.refresh_needed then 'paused' else 'scheduled' end, error_kind = null, error = null,
        due_at = case when p.parent_post_id = s.id then greatest(now() + p.delay_minutes * interval '1 minute', p.publish_date) end
      from released s, thread b, channel c
      where p.id = b.id and p.org_id = ${orgId} and b.id <> s.id and b.attempt = 0 and b.seq > (select seq from thread where id = s.id) and (b.state = 'ERROR' or b.state = 'QUEUE' and b.due_at is null)
      returning p.id, p.org_id, p.channel_id, p.root_post_id, p.state, p.detail, p.due_at, p.publish_date
    ), changed as (
      select id, org_id, channel_id, root_post_id, state, detail, due_at, publish_date from released union all select * from opened
    ), ${moved(sql, orgId, horizonMs)}, told as (
      insert into post_timeline (org_id, post_id, kind, message, data) select org_id, id, 'reconciled', 'A person named the post on the network', jsonb_build_object('releaseId', ${releaseId}::text) from released
    ), ${announce(sql, {
      'post.published': {
        from: withChannel(sql, sql`(select * from released where root_post_id is null and state_before <> 'PUBLISHED')`),
        payload: releasedFact(sql),
      },
    })}
    select v.verdict, ${orgId}::text as "orgId", (select id from channel)::text as "channelId", (select due_at from nearer) as nearer, g.state, g.publish_date as "publishDate" from verdict v left join changed g on g.id = ${postId}`;
  };

/** Frees the slot that a post holds, after it was settled by a person. */
export async function freeSlot(sql: Sql, { orgId, postId }: Target): Promise<void> {
  await sql`update channels set slot_incarnation = null, slot_post_id = null, slot_until = null, due_version = due_version + 1 where org_id = ${orgId} and slot_post_id = ${postId}`;
}

/** Deletes every post of a group with its threads, or nothing while one of them is on its way. Answers how many roots. */
export async function removeGroup(sql: Sql, orgId: string, group: string): Promise<{ verdict: Verdict; deleted: number }> {
  const row = await seeing(
    () => sql<{ verdict: Verdict | typeof OUTDATED; deleted: number }[]>`
    with mine as materialized (
      select p.id, p.channel_id, p.version from posts p where p.org_id = ${orgId} and p.group_id = ${group} and p.deleted_at is null
    ), channel as materialized (
      select c.id from channels c where c.org_id = ${orgId} and c.id in (select channel_id from mine) order by c.id for no key update
    ), doomed as materialized (
      select p.id, p.version, p.state = 'QUEUE' and p.detail in ('publishing', 'processing', 'unconfirmed') as flying
      from posts p join channel c on c.id = p.channel_id where p.org_id = ${orgId} and p.group_id = ${group} and p.deleted_at is null order by p.id for no key update of p
    ), verdict as (
      select case
        when exists (select from doomed d join mine m on m.id = d.id where m.version <> d.version) then ${OUTDATED}
        when not exists (select from doomed) then 'not_found'
        when exists (select from doomed where flying) then 'in_flight'
        else 'done' end as verdict
    ), changed as (
      update posts p set deleted_at = now(), updated_at = now() from doomed b, verdict v where v.verdict = 'done' and p.id = b.id and p.org_id = ${orgId}
      returning p.id, p.org_id, p.channel_id, p.root_post_id, p.group_id, p.content, p.publish_date, p.state, p.detail
    ), told as (
      insert into post_timeline (org_id, post_id, kind, message) select org_id, id, 'cancelled', 'Deleted with its group' from changed
    ), ${deletedFacts(sql)}
    select v.verdict, (select count(*)::int from changed where root_post_id is null) as deleted from verdict v`,
  );
  return row!;
}
