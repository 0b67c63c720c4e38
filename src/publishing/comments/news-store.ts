import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { KeptComment } from './rules.ts';

/** A comment below a post. */
export interface FoundComment extends KeptComment {
  id: string;
  postId: string;
}
export interface NewRow {
  id: string;
  postId: string;
}
interface Where {
  orgId: string;
  channelId: string;
}

/** The comment `i` says what the reply `f` does, whose answer is not here: the next sweep knows whether it is that. */
const isUnderWay = (sql: Sql): Fragment =>
  sql`(f.state in ('sending', 'unconfirmed') and f.reply ->> 'text' = i.content)`;

/**
 * Stores comments of the days that they are kept for, each once for its channel, and what was changed of those that are
 * known. Items of threads and replies of ours are not stored again; what else follows a post is the channel's own, also
 * where its network names another author, such as a bot. Answers what is new and of others.
 */
export async function upsertComments(
  sql: Sql,
  { orgId, channelId }: Where,
  found: readonly FoundComment[],
  days: number,
): Promise<NewRow[]> {
  const rows = await sql<(NewRow & { isNew: boolean })[]>`
    with input as (
      select *
      from json_to_recordset(${JSON.stringify(found)}::text::json) as t (
        id uuid, "postId" uuid, "externalId" text, "parentExternalId" text, content text, "authorId" text,
        "authorName" text, "authorPicture" text, "isOwn" boolean, hidden boolean, saved text, "createdAt" timestamptz
      )
    )
    insert into social_comments as s (id, org_id, channel_id, post_id, external_id, parent_external_id, content,
      author_id, author_name, author_picture, is_own, hidden, saved, created_at)
    select i.id, p.org_id, p.channel_id, p.id, i."externalId", i."parentExternalId", i.content, i."authorId",
      i."authorName", i."authorPicture",
      i."isOwn" or exists (
        select
        from post_follow_ups f
        where f.post_id = p.id
          and f.org_id = p.org_id
          and f.channel_id = p.channel_id
          and f.release_id = i."externalId"
      ),
      coalesce(i.hidden, false), i.saved::jsonb,
      least(i."createdAt", date_trunc('milliseconds', now()))
    from input i
    join posts p on p.id = i."postId" and p.org_id = ${orgId} and p.channel_id = ${channelId}
    where i."createdAt" > now() - ${days}::int * interval '1 day'
      and not exists (
        select
        from posts q
        where q.channel_id = p.channel_id
          and q.org_id = p.org_id
          and q.release_id = i."externalId"
      )
      and not exists (
        select
        from post_follow_ups f
        where f.post_id = p.id
          and f.org_id = p.org_id
          and f.kind = 'reply'
          and (f.release_id = i."externalId" or ${isUnderWay(sql)})
      )
    order by i."externalId"
    on conflict (channel_id, external_id) do update
    set parent_external_id = excluded.parent_external_id,
      content = excluded.content,
      author_id = excluded.author_id,
      author_name = excluded.author_name,
      author_picture = excluded.author_picture,
      hidden = coalesce((
        select h.hidden
        from input h
        where h."externalId" = excluded.external_id
        limit 1
      ), s.hidden),
      saved = excluded.saved,
      is_own = s.is_own or excluded.is_own, -- an account that was renamed stays that of its comments
      deleted_at = null
    where s.org_id = ${orgId}
      and (s.deleted_at is not null
        or (s.content, s.author_name, s.author_picture, s.parent_external_id) is distinct from
          (excluded.content, excluded.author_name, excluded.author_picture, excluded.parent_external_id)
        or excluded.is_own and not s.is_own
        or exists (
          select
          from input h
          where h."externalId" = excluded.external_id
            and h.hidden <> s.hidden
        ))
    returning s.id, s.post_id as "postId", s.xmax = 0 and not s.is_own as "isNew"`;
  return rows.flatMap(({ isNew, ...row }) => (isNew ? [row] : []));
}

/** A post whose comments were all read, as far as its network lists them. */
export interface WholePost {
  postId: string;
  externalIds: readonly string[];
}

/**
 * Deletes what is gone at the network, with what it said; the row stays, so that it is no news should it come back. Some
 * networks do not list what is hidden.
 * `answersToo`: of answers that are not listed the network says so, too.
 */
export const markGone = (
  sql: Sql,
  { orgId, channelId }: Where,
  posts: readonly WholePost[],
  answersToo: boolean,
) => sql`
  update social_comments s
  set deleted_at = now(), content = '', author_id = '', author_name = '', author_picture = null, saved = null
  from unnest(
    ${posts.map(({ postId }) => postId)}::uuid[],
    ${posts.map(({ externalIds }) => JSON.stringify(externalIds))}::text[]
  ) as w (post_id, listed)
  where s.post_id = w.post_id
    and s.org_id = ${orgId}
    and s.channel_id = ${channelId}
    and s.external_id is not null
    and s.deleted_at is null
    and not s.hidden
    and not (w.listed::jsonb ? s.external_id)
    and (${answersToo} or s.parent_external_id is null or not (w.listed::jsonb ? s.parent_external_id))`;

/** Notes which comments the channel has answered at the network itself. */
export const markAnswered = (sql: Sql, { orgId, channelId }: Where, postIds: readonly string[]) => sql`
  update social_comments s
  set replied_at = o.created_at
  from social_comments o
  where o.post_id = any(${[...postIds]}::uuid[])
    and o.org_id = ${orgId}
    and o.is_own
    and o.external_id is not null
    and o.deleted_at is null
    and s.channel_id = ${channelId}
    and s.org_id = o.org_id
    and s.external_id = o.parent_external_id
    and s.replied_at is null
    and not s.is_own`;

/** How far the comments of a post were read. */
export interface ReadState {
  postId: string;
  cursor: string | null;
  isSilent: boolean;
}

export const upsertReads = (sql: Sql, { orgId, channelId }: Where, reads: readonly ReadState[]) => sql`
  insert into comment_reads as r (post_id, org_id, read_at, is_silent, cursor)
  select p.id, p.org_id, now(), i."isSilent", i.cursor
  from json_to_recordset(${JSON.stringify(reads)}::text::json) as i ("postId" uuid, cursor text, "isSilent" boolean)
  join posts p on p.id = i."postId" and p.org_id = ${orgId} and p.channel_id = ${channelId}
  on conflict (post_id) do update
  set read_at = excluded.read_at, is_silent = excluded.is_silent, cursor = excluded.cursor
  where r.org_id = ${orgId}`;
