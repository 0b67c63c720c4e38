import type { Sql } from '../../../platform/db/index.ts';
import { idFrom } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { insertTimeline, moment } from '../journal.ts';
import { datesAfter, followingDate, successorIdOf } from '../recurrence.ts';
import { post, type PostMedia } from '../row.ts';
import { PAST_MS } from '../rules.ts';
import { toRepeat } from '../state.ts';
import type { Create, NewPost } from './input.ts';

// The next post of a series. Its id is made of that of the post before it, so that a post has one successor, however
// often and by whomever it is made, and whatever date they would give it.

/** What comes after a post; without `create` there is nothing to store. */
export interface Successor {
  /** Undefined: the series has ended. */
  postId?: string | undefined;
  create?: Create | undefined;
  skipped: readonly Date[];
}

type Stored = Omit<NewPost, 'publishDate' | 'state'> & {
  media: PostMedia[];
  publishDate: Date;
  createdBy: string | null;
  approval: NonNullable<Create['approval']> | null;
  /** It was changed, and nobody has approved that. */
  isUnapproved: boolean;
  shortens: boolean;
  now: Date;
  /** The date of the successor, where it is there already. */
  made: Date | null;
};

/**
 * Says what follows a post that waits no longer: the same thread with its texts, media and settings as they are, at the
 * next date. Undefined: its series needs no successor, or has one.
 */
export async function prepareSuccessor(
  { sql }: Pick<PostsDeps, 'sql'>,
  orgId: string,
  postId: string,
): Promise<Successor | undefined> {
  const nextId = successorIdOf(postId);
  const [root, ...items] = await findThread(sql, orgId, postId, nextId);
  if (!root?.recurrence) return undefined;
  if (root.made) {
    const to = new Date(root.made.getTime() - 1);
    const skipped = datesAfter(root.recurrence, root.publishDate, { most: 500, to });
    return { postId: nextId, skipped: skipped.map(({ at }) => at) };
  }
  const following = followingDate(root.recurrence, root.publishDate, root.now, PAST_MS);
  if (!following) return { skipped: [] };
  const ids = [nextId, ...items.map((_, n) => idFrom(`${nextId} ${n + 1}`))];
  const { createdBy, approval, isUnapproved } = root;
  const posts = [root, ...items].map(({ shortens, ...stored }, n) => ({
    ...post.pick('create', stored),
    id: ids[n]!,
    parentPostId: ids[n - 1] ?? null,
    rootPostId: n > 0 ? nextId : null,
    state: 'QUEUE' as const,
    publishDate: following.at,
    recurrence: n > 0 ? null : following.recurrence,
    ...(shortens && { shortLinks: true }),
  }));
  // what was queued unasked before goes on so, unless everybody's posts are held by now
  const create = { posts, createdBy, schedulesFreely: !isUnapproved, ...(approval && { approval }) };
  return { postId: nextId, create, skipped: following.skipped };
}

const findThread = (sql: Sql, orgId: string, postId: string, nextId: string) => sql<Stored[]>`
    select ${post.select(sql, 'create', 'p')}, p.publish_date as "publishDate", p.created_by as "createdBy",
      case p.approval_state when 'approved' then
        json_build_object('by', p.approval_by, 'at', p.approval_at, 'hash', p.approval_hash)
      end as approval, coalesce(p.approval_state in ('awaiting', 'rejected'), false) as "isUnapproved",
      exists (
        select
        from short_links l
        where l.org_id = p.org_id
          and l.post_id in (p.id, r.id)
      ) as shortens,
      now() as now, (
        select n.publish_date
        from posts n
        where n.org_id = p.org_id
          and n.id = ${nextId}
      ) as made
    from posts r
    join posts p on p.org_id = r.org_id
      and (p.id = r.id or p.root_post_id = r.id and p.deleted_at is not distinct from r.deleted_at)
    where r.org_id = ${orgId}
      and r.id = ${postId}
      and ${toRepeat(sql, 'r')}
    order by p.seq`;

const MOST_NAMED = 50;
/** Writes down that the series of a post goes on with its successor, or has ended. */
export async function markRepeated(
  { sql }: Pick<PostsDeps, 'sql'>,
  orgId: string,
  postId: string,
  { postId: nextId, skipped }: Pick<Successor, 'postId' | 'skipped'>,
): Promise<void> {
  const named = { skipped: skipped.slice(0, MOST_NAMED), count: skipped.length };
  await sql`
    with marked as (
      update posts
      set repeated_at = now()
      where org_id = ${orgId}
        and id = ${postId}
        and repeated_at is null
      returning id, org_id
    ), next as (
      select n.id, n.org_id, n.publish_date
      from posts n
      join marked m on m.org_id = n.org_id
      where n.org_id = ${orgId}
        and n.id = ${nextId ?? null}
    ), followed as (
      select m.id, m.org_id, n.id as next_id, n.publish_date
      from marked m
      join next n on true
    ) ${insertTimeline(
      sql,
      {
        from: sql`followed`,
        kind: 'scheduled',
        message: 'The series goes on with another post',
        data: sql`jsonb_build_object('postId', next_id, 'publishDate', ${moment(sql, sql`publish_date`)})`,
      },
      {
        from: sql`next where ${skipped.length > 0}`,
        kind: 'scheduled',
        message: 'Dates of the series had gone by, and are skipped',
        data: sql`${JSON.stringify(named)}::text::jsonb`,
      },
    )}`;
}
