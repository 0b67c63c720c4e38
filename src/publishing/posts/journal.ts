import type { Fragment, Sql } from '../../platform/db/index.ts';

// What happened to posts: the only writer of `post_timeline`, and what their facts say.

/**
 * Entries for the timeline: one for each row behind `from`, whose columns `org_id` and `id` name the organization and
 * the post.
 */
export interface Entry {
  from: Fragment;
  kind: string | Fragment;
  message: string | Fragment;
  data?: Fragment;
}

/** A moment in the data of an entry, written as answers write theirs: in UTC, to the millisecond (S104). */
export const moment = (sql: Sql, at: Fragment): Fragment =>
  sql`to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The CTE `timeline`, which writes what a statement did to its posts. */
export function timeline(sql: Sql, first: Entry, ...more: readonly Entry[]): Fragment {
  return sql`
    timeline as (${insertTimeline(sql, first, ...more)}
    )`;
}

/** The insert itself, for a statement that does nothing after it. */
export function insertTimeline(sql: Sql, first: Entry, ...more: readonly Entry[]): Fragment {
  const textOf = (value: string | Fragment) => (typeof value === 'string' ? sql`${value}::text` : value);
  const rows = ({ from, kind, message, data }: Entry) => sql`
      select org_id, id, ${textOf(kind)}, ${textOf(message)}, ${data ?? sql`null::jsonb`}
      from ${from}`;
  return sql`
      insert into post_timeline (org_id, post_id, kind, message,
        data)${more.reduce((all, entry) => sql`${all} union all ${rows(entry)}`, rows(first))}`;
}

/** The CTE `touched`: the posts of `from (org_id, id)`, which are locked, show something else of what follows them. */
export const touchPosts = (sql: Sql, from: Fragment): Fragment => sql`
    touched as (
      update posts p
      set updated_at = now()
      from ${from} f
      where p.id = f.id
        and p.org_id = f.org_id
    )`;

/** The rows of a CTE with the columns of the use `fact`, each with its channel, which stands in `channel` as well. */
export const withChannel = (sql: Sql, from: Fragment, channel: Fragment = sql`channels`): Fragment => sql`(
        select f.*, c.provider_id, c.name as channel_name
        from ${from} f
        join ${channel} c on c.id = f.channel_id and c.org_id = f.org_id
      ) posts_told`;

/** What every fact of a post says, from rows of `withChannel`. */
export const postFact = (sql: Sql) => ({
  channelId: sql`channel_id`,
  providerId: sql`provider_id`,
  channelName: sql`channel_name`,
  createdBy: sql`created_by`,
  rootPostId: sql`root_post_id`,
  groupId: sql`group_id`,
  content: sql`content`,
  publishDate: sql`publish_date`,
});

/** The same of a post that was published. */
export const releasedFact = (sql: Sql) => ({ ...postFact(sql), url: sql`coalesce(release_url, '')` });

/** The same of a post that waits, with what it waits for. */
export const queuedFact = (sql: Sql) => ({ ...postFact(sql), detail: sql`detail` });

/** The same of a post that is deleted before it was published. */
export const deletedFact = (sql: Sql) => ({ ...queuedFact(sql), state: sql`state` });

/** The same of a post whose approval `by` asked for, gave or refused, with the reason that they gave. */
export const decidedFact = (sql: Sql, by: Fragment, reason: Fragment = sql`null::text`) => ({
  ...deletedFact(sql),
  by,
  reason,
});

/** Why a post is paused, from its row: by a brake, or by its channel. */
export const pauseReason = (sql: Sql): Fragment => sql`case when on_brake then 'brake' else 'channel' end`;

/** The same in words. */
export const pauseMessage = (sql: Sql): Fragment =>
  sql`case when on_brake then 'A brake is on' else 'The channel is stopped' end`;

/** The same of a post that was paused, or goes on. */
export const pausedFact = (sql: Sql, reason: Fragment) => ({ ...deletedFact(sql), reason });

/** The same of an attempt that failed. */
export const failedFact = (sql: Sql) => ({ ...postFact(sql), errorKind: sql`error_kind`, error: sql`error` });
