import type { PostsDeps } from '../deps.ts';
import { postColumns, type PostRow, postRowOf, type StoredPost } from './row.ts';

/** Posts that one answer tells. */
const MOST_TOLD = 100;

/** The posts whose date was at or before `until` and that are published, the latest date first (S119). */
export async function listPublished(
  deps: Pick<PostsDeps, 'sql' | 'channels'>,
  orgId: string,
  until: Date,
): Promise<readonly PostRow[]> {
  const { sql } = deps;
  const rows = await sql<StoredPost[]>`
    select ${postColumns(sql)}
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.state = 'PUBLISHED'
      and p.root_post_id is null
      and p.deleted_at is null
      and p.publish_date < ${until}::timestamptz + interval '1 ms' -- dates are answered in milliseconds
    order by p.publish_date desc, p.seq desc
    limit ${MOST_TOLD}`;
  return rows.map((row) => postRowOf(deps, row));
}
