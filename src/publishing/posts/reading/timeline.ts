import { notFound } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';

export interface TimelineRow {
  at: Date;
  kind: string;
  message: string;
  data: unknown;
}

/** What happened to a post, oldest first. Throws `not_found`. */
export async function getTimeline(
  { sql }: Pick<PostsDeps, 'sql'>,
  orgId: string,
  postId: string,
): Promise<{ postId: string; items: TimelineRow[] }> {
  const rows = await sql<(TimelineRow & { kind: string | null })[]>`
    select t.at, t.kind, t.message, t.data
    from posts p
    left join post_timeline t on t.post_id = p.id and t.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and p.deleted_at is null
    order by t.id`;
  if (rows.length === 0) throw notFound('Post not found');
  return { postId, items: rows.filter(({ kind }) => kind !== null) };
}
