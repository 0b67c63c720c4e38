import { type Fragment, retentionRule, oldRows, type Sql } from '../../platform/db/index.ts';

/** What became of a reply of ours. */
export type ReplyState = 'pending' | 'posted' | 'failed';

/** A comment below a post, of anybody or of the channel. */
export interface CommentRow {
  id: string;
  postId: string;
  channelId: string;
  /** Null: a reply that is not out. */
  externalId: string | null;
  parentId: string | null;
  content: string;
  authorName: string;
  authorPicture: string | null;
  createdAt: Date;
  repliedAt: Date | null;
  hidden: boolean;
  done: boolean;
  isOwn: boolean;
  /** Of a reply that was written here; null for all others. */
  reply: { state: ReplyState; error: string | null } | null;
}

/** States of follow-ups that will not be published any more. */
const givenUp = (sql: Sql): Fragment => sql`('failed', 'none', 'ended')`;

/** The replies to the comment `s` that are in a state. */
const repliesTo = (sql: Sql, state: Fragment): Fragment => sql`
      from social_comments r
      join post_follow_ups f on f.id = r.id and f.org_id = r.org_id
      where r.answers = s.id
        and r.org_id = s.org_id
        and ${state}`;

const columns = (sql: Sql): Fragment => sql`
    s.id, s.post_id as "postId", s.channel_id as "channelId", coalesce(s.external_id, w.release_id) as "externalId",
    coalesce(s.answers, (
      select f.id -- a reply that was written here is known at its network by its follow-up
      from post_follow_ups f
      where f.post_id = s.post_id
        and f.org_id = s.org_id
        and f.kind = 'reply'
        and f.release_id = s.parent_external_id
      limit 1
    ), (
      select t.id
      from social_comments t
      where t.channel_id = s.channel_id
        and t.external_id = s.parent_external_id
    )) as "parentId",
    s.content, s.author_name as "authorName", s.author_picture as "authorPicture", s.created_at as "createdAt",
    least(s.replied_at, (select min(f.done_at) ${repliesTo(sql, sql`f.state = 'done'`)})) as "repliedAt",
    s.hidden, s.done, s.is_own as "isOwn",
    case when s.external_id is null then json_build_object(
      'state', case
        when w.state = 'done' then 'posted'
        when w.state is null or w.state in ${givenUp(sql)} then 'failed'
        else 'pending' end,
      'error', case
        when w.state is null or w.state in ${givenUp(sql)} then coalesce(w.error, 'The post is gone')
        when w.state <> 'done' then w.error end
    ) end as reply`;

/**
 * From comments `s` that are there; a reply that was written here and was read from its network counts once, whoever its
 * author is there: a bot is not known for the channel before the answer of the network is here.
 */
const comments = (sql: Sql): Fragment => sql`
  from social_comments s
  join posts p on p.id = s.post_id and p.org_id = s.org_id and p.deleted_at is null
  join channels c on c.id = s.channel_id and c.org_id = s.org_id and c.deleted_at is null
  left join post_follow_ups w on s.external_id is null and w.id = s.id and w.org_id = s.org_id`;
const isThere = (sql: Sql, orgId: string): Fragment => sql`
    s.org_id = ${orgId}
    and s.deleted_at is null
    and not (s.external_id is not null
      and exists (
        select
        from post_follow_ups f
        where f.post_id = s.post_id
          and f.org_id = s.org_id
          and f.kind = 'reply'
          and f.release_id = s.external_id
      ))`;

export interface CommentFilter {
  channelId?: string | undefined;
  postId?: string | undefined;
  /** Of people, without a reply of ours, and not done. */
  unanswered?: boolean | undefined;
  /** Behind this comment. */
  after?: string | undefined;
}

const chosenBy = (sql: Sql, orgId: string, { channelId, postId, unanswered, after }: CommentFilter): Fragment => sql`
    ${channelId === undefined ? sql`` : sql`and s.channel_id = ${channelId}`}
    ${postId === undefined ? sql`` : sql`and s.post_id = ${postId}`}
    ${
      unanswered
        ? sql`
    and not s.is_own
    and not s.done
    and s.replied_at is null
    and not exists (select ${repliesTo(sql, sql`f.state not in ${givenUp(sql)}`)})`
        : sql``
    }
    ${
      after === undefined
        ? sql``
        : sql`
    and (s.created_at, s.id) < (
      select a.created_at, a.id
      from social_comments a
      where a.org_id = ${orgId}
        and a.id = ${after}
    )`
    }`;

/** Comments of an organization, newest first. */
export const listRows = (sql: Sql, orgId: string, filter: CommentFilter, limit: number) => sql<CommentRow[]>`
  select ${columns(sql)}
  ${comments(sql)}
  where ${isThere(sql, orgId)}
    ${chosenBy(sql, orgId, filter)}
  order by s.created_at desc, s.id desc
  limit ${limit}`;

/** A comment with what its network needs to answer it. */
export type FoundRow = CommentRow & { saved: unknown };

export async function findRow(sql: Sql, orgId: string, id: string): Promise<FoundRow | undefined> {
  const [row] = await sql<FoundRow[]>`
    select ${columns(sql)}, s.saved
    ${comments(sql)}
    where ${isThere(sql, orgId)}
      and s.id = ${id}`;
  return row;
}

/** Writes what a person decided of a comment. */
export const updateRow = (
  sql: Sql,
  orgId: string,
  id: string,
  { done, hidden }: { done?: boolean | undefined; hidden?: boolean | undefined },
) => sql`
  update social_comments
  set done = coalesce(${done ?? null}::boolean, done), hidden = coalesce(${hidden ?? null}::boolean, hidden)
  where org_id = ${orgId}
    and id = ${id}`;

/** A reply that is to be written, which shows as a comment of the channel. */
export interface NewReply {
  id: string;
  orgId: string;
  answers: string;
  content: string;
}

/** Stores a reply below the comment that it answers; false: that comment is gone. */
export async function insertReply(sql: Sql, { id, orgId, answers, content }: NewReply): Promise<boolean> {
  const rows = await sql`
    insert into social_comments (id, org_id, channel_id, post_id, parent_external_id, answers, content, author_id,
      author_name, author_picture, is_own, created_at)
    select ${id}, s.org_id, s.channel_id, s.post_id, s.external_id, s.id, ${content}, c.internal_id, c.name, c.picture,
      true, date_trunc('milliseconds', now())
    from social_comments s
    join channels c on c.id = s.channel_id and c.org_id = s.org_id
    where s.org_id = ${orgId}
      and s.id = ${answers}
      and s.deleted_at is null
    returning id`;
  return rows.length > 0;
}

export const oldComments = oldRows('social_comments', 'created_at');
export const commentsRetention = retentionRule(
  'SOCIAL_COMMENT_RETENTION_DAYS', // RT11
  ['old-comments'],
  oldComments.due,
);
