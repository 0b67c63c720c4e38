import { invalidField, isId, notFound } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { postColumns, type PostRow, postRowOf, type StoredPost } from './row.ts';

type Needs = Pick<PostsDeps, 'sql' | 'channels'>;

/** A post, then the items behind it; or the item alone when an item is asked for. Throws `not_found`. */
export async function getPost(deps: Needs, orgId: string, postId: string): Promise<PostRow[]> {
  const { sql } = deps;
  const rows = await sql<StoredPost[]>`
    select ${postColumns(sql)}
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and (p.id = ${postId} or p.root_post_id = ${postId})
      and p.deleted_at is null
    order by p.seq`;
  if (!rows.some(({ id }) => id === postId)) throw notFound('Post not found');
  return rows.map((row) => postRowOf(deps, row));
}

const MOST_OF_GROUP = 10_000;
/** The posts of a group. Throws `not_found` without one, and `too_many` where it has more than is told at once. */
export async function getGroup(deps: Needs, orgId: string, group: string): Promise<PostRow[]> {
  const { sql } = deps;
  const rows = await sql<StoredPost[]>`
    select ${postColumns(sql)}
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.group_id = ${group}
      and p.deleted_at is null
    order by p.seq
    limit ${MOST_OF_GROUP + 1}`;
  if (rows.length === 0) throw notFound('Post not found');
  if (rows.length > MOST_OF_GROUP)
    throw invalidField('group', `has more than ${MOST_OF_GROUP} posts: list them by date, in parts`, 'too_many');
  return rows.map((row) => postRowOf(deps, row));
}

/** Who made all posts of a group; null: nobody, or not one person, undefined: there is no such group. */
export async function findGroupAuthor(
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  group: string,
): Promise<string | null | undefined> {
  const rows = await sql<{ createdBy: string | null }[]>`
    select distinct created_by as "createdBy"
    from posts
    where org_id = ${orgId}
      and group_id = ${group}
      and deleted_at is null
    limit 2`;
  return rows.length > 1 ? null : rows[0]?.createdBy;
}

/** Who made a post; undefined when it is not there. */
export async function findAuthor(
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  postId: string,
): Promise<string | null | undefined> {
  if (!isId(postId)) return undefined;
  const [row] = await sql<{ createdBy: string | null }[]>`
    select created_by as "createdBy"
    from posts
    where org_id = ${orgId}
      and id = ${postId}
      and deleted_at is null`;
  return row?.createdBy;
}
