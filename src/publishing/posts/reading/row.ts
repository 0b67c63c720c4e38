import { cleanContent } from '../../../platform/content/index.ts';
import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { firstCommentOf } from '../authoring/follow-ups.ts';
import type { ChannelsPort } from '../channels-port.ts';
import { hashOfThread } from '../approval/consent.ts';
import { type ListColumns, post, type ReadColumns } from '../row.ts';

/** What a post has beside its columns wherever it is shown. */
interface Shown {
  channelName: string;
  providerId: string;
  picture: string | null;
  /** `campaignId`: of the campaign whose tag it is. */
  tags: { id: string; name: string; color: string; campaignId: string | null }[];
  /** Of a date of a series: that of the post which waits, and stands for it. */
  actualDate?: Date;
}
/** A post in lists of the public API, of agents and of calendars: the half of its columns that they tell. */
export interface BriefPost extends ListColumns, Shown {}
/** A post as the presenters take it: its row, its channel, its tags and its first comment. */
export interface PostRow extends ReadColumns, Shown {
  /** Of what was approved or rejected, or of what waits for it. */
  contentHash: string | null;
  /** `none`: it asks for none, or its network has none. */
  firstComment: { state: 'none' | 'pending' | 'posted' | 'failed'; error: string | null };
  firstCommentPostedAt: Date | null;
}
/** The same as they are read. */
export interface StoredBrief extends BriefPost {
  /** False: an earlier release stored the content as it came, and no sweep has cleaned it yet. */
  contentClean: boolean;
}
export interface StoredPost extends Omit<PostRow, 'firstComment' | 'firstCommentPostedAt'>, StoredBrief {
  providerVersion: string;
  /** Once the post is published. */
  commented: { state: string; error: string | null; at: string | null } | null;
}

/**
 * Columns without parameters are put together once: for each list anew they took a tenth of its processor time.
 */
const once = (make: (sql: Sql) => Fragment): ((sql: Sql) => Fragment) => {
  let made: Fragment | undefined;
  return (sql) => (made ??= make(sql));
};

const shownColumns = (sql: Sql): Fragment => sql`
    c.name as "channelName", c.provider_id as "providerId", c.picture, p.content_clean as "contentClean",
    case when p.tag_ids = '{}' then '[]'::json else coalesce((
      select json_agg(
        json_build_object('id', t.id, 'name', t.name, 'color', t.color, 'campaignId', k.id)
        order by lower(t.name)
      )
      from tags t
      left join campaigns k on k.tag_id = t.id and k.org_id = t.org_id
      where t.org_id = p.org_id
        and t.id = any(p.tag_ids)
    ), '[]') end as tags`;

/** The columns of a `StoredBrief`, from `posts p` and `channels c`. */
export const briefColumns = once((sql) => sql`${post.select(sql, 'list', 'p')}, ${shownColumns(sql)}`);

/** The columns of a `StoredPost`, from `posts p` and `channels c`. */
export const postColumns = once(
  (sql) => sql`
    ${post.select(sql, 'read', 'p')}, ${shownColumns(sql)}, c.provider_version as "providerVersion",
    case p.approval_state when 'awaiting' then ${hashOfThread(sql)} else p.approval_hash end as "contentHash",
    case when p.settings ? 'firstComment' then (
      select json_build_object('state', f.state, 'error', f.error, 'at', f.done_at)
      from post_follow_ups f
      where f.post_id = p.id
        and f.org_id = p.org_id
        and f.kind = 'first_comment'
    ) end as commented`,
);

const STATES_OF_COMMENTS: Readonly<Record<string, PostRow['firstComment']['state']>> = {
  done: 'posted',
  failed: 'failed',
  none: 'none',
  ended: 'none',
};

/** What was read, in place, with the content of the editor and nothing else (T15). */
export function briefOf<Row extends StoredBrief>(stored: Row): Row {
  if (!stored.contentClean) stored.content = cleanContent(stored.content);
  return stored;
}

/**
 * The same with its first comment, which belongs to the first item of a thread. The row is completed in place: to copy
 * so many columns takes longer than all else that is done with it.
 */
export function postRowOf({ channels }: { channels: Pick<ChannelsPort, 'hasComments'> }, stored: StoredPost): PostRow {
  const { commented } = stored;
  const isAsked = stored.rootPostId === null && firstCommentOf(stored.settings) !== undefined;
  const state = commented
    ? (STATES_OF_COMMENTS[commented.state] ?? 'pending')
    : isAsked && channels.hasComments(stored.providerId, stored.providerVersion)
      ? 'pending'
      : 'none';
  return Object.assign(briefOf(stored), {
    firstComment: { state, error: commented?.error ?? null },
    firstCommentPostedAt: commented?.at ? new Date(commented.at) : null,
  });
}

/** The words of clients for the states of a post. */
export const STATES = { scheduled: 'QUEUE', draft: 'DRAFT', published: 'PUBLISHED', error: 'ERROR' } as const;
