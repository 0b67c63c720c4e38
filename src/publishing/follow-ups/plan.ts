import type { Fragment, Sql } from '../../platform/db/index.ts';
import { awaitsApproval, type FollowUpsPort } from '../posts/index.ts';
import type { Reply } from './row.ts';

// Rows of what follows a publication, as parts of the statement that publishes: so nothing can be published without
// them, and a post that nothing follows costs no statement, only a look at its settings, which are at hand there.

/** A thread with items that may still go out is looked at again after this long, whatever comes of them. */
const THREAD_DAYS = 1;

/**
 * Whether items of the thread of `root` may still go out by themselves, but for those that `but` says, of items `q`: what
 * this statement changes itself it does not see. One that has failed is waited for no longer.
 */
export const hasOpenItems = (
  sql: Sql,
  { org, root, but = sql`false` }: { org: Fragment; root: Fragment; but?: Fragment },
): Fragment => sql`exists (
          select
          from posts q
          where q.root_post_id = ${root}
            and q.org_id = ${org}
            and not (${but})
            and q.deleted_at is null
            and q.state in ('QUEUE', 'DRAFT')
        )`;

/**
 * Plans the first comment and the post plugs of first items. A first comment has its time when the last item of its
 * thread is out, or has failed, with which those behind it are given up; an item that is settled is the reason to look.
 */
export const planFollowUps: FollowUpsPort['plan'] = (sql, settled) => sql`
    to_follow as materialized (
      select *
      from ${settled} t
    ), published as (
      select *
      from to_follow
      where state = 'PUBLISHED'
    ), planned_comments as (
      insert into post_follow_ups (org_id, post_id, kind, channel_id, due_at)
      select r.org_id, r.id, 'first_comment', r.channel_id, now() + case when exists (
          select
          from posts q
          where q.root_post_id = r.id
            and q.org_id = r.org_id
            and q.deleted_at is null
        ) then ${THREAD_DAYS} * interval '1 day' else interval '0' end
      from published r
      where r.root_post_id is null
        and jsonb_typeof(r.settings -> 'firstComment') = 'string'
        and r.settings ->> 'firstComment' ~ '\\S'
      on conflict (post_id, kind, key) do nothing
      returning post_id, due_at
    ), planned_plugs as (
      insert into post_follow_ups (org_id, post_id, kind, key, plug, channel_id, due_at)
      select distinct r.org_id, r.id, 'post_plug', a.plug || ' ' || i.channel_id, a.plug, i.channel_id::uuid, now()
      from published r
      cross join lateral (
        select substr(e.key, 7, length(e.key) - 14) as plug
        from jsonb_each(r.settings) e
        where e.key like 'plug--%--active'
          and e.value in ('true', '"true"')
      ) a
      cross join lateral (
        select e.value ->> 'id' as channel_id
        from jsonb_path_query(r.settings -> ('plug--' || a.plug || '--integrations'), '$[*]') as e (value)
      ) i
      where r.root_post_id is null
        and i.channel_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      on conflict (post_id, kind, key) do nothing
      returning post_id, due_at
    ), ended_threads as (
      update post_follow_ups f
      set due_at = now()
      from to_follow s
      where s.root_post_id is not null
        and f.post_id = s.root_post_id
        and f.org_id = s.org_id
        and f.kind = 'first_comment'
        and f.state = 'waiting'
        and not ${hasOpenItems(sql, {
          org: sql`s.org_id`,
          root: sql`s.root_post_id`,
          but: sql`q.id = s.id
            or s.state = 'ERROR' and (q.state = 'QUEUE' or ${awaitsApproval(sql, 'q')}) and q.seq > s.seq`,
        })}
      returning f.post_id, f.due_at
    ), follow_ups as (
      select distinct post_id
      from (
        select * from planned_comments
        union all
        select * from planned_plugs
        union all
        select * from ended_threads
      ) f
      where due_at <= now()
    )`;

/** A reply that is to be written below a post; the id is that of the comment which it becomes. */
export interface PlannedReply {
  id: string;
  orgId: string;
  postId: string;
  channelId: string;
  reply: Reply;
}
/** Plans a reply, in the transaction that stores it. */
export const planReply = (transaction: Sql, { id, orgId, postId, channelId, reply }: PlannedReply) => transaction`
  insert into post_follow_ups (id, org_id, post_id, kind, key, channel_id, reply, due_at)
  values (${id}, ${orgId}, ${postId}, 'reply', ${id}, ${channelId}, ${JSON.stringify(reply)}::text::jsonb, now())`;

/** A thread may end because the items that were not out are deleted. */
export const shortenThread: FollowUpsPort['shorten'] = async (sql, { orgId, postId }) => {
  const { count } = await sql`
    update post_follow_ups f
    set due_at = now()
    where f.org_id = ${orgId}
      and f.post_id = ${postId}
      and f.kind = 'first_comment'
      and f.state = 'waiting'
      and not ${hasOpenItems(sql, { org: sql`f.org_id`, root: sql`f.post_id` })}`;
  return count > 0;
};
