import { notFound } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { ToldWebhook } from '../ports.ts';

export interface TimelineRow {
  at: Date;
  kind: string;
  message: string;
  data: unknown;
}

/** What happened to a post, and which webhooks were told of it, oldest first. Throws `not_found`. */
export async function getTimeline(
  { sql, deliveries }: Pick<PostsDeps, 'sql' | 'deliveries'>,
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
  const own = rows.filter(({ kind }) => kind !== null);
  return { postId, items: merged(own, (await deliveries.attemptsOfPost(orgId, postId)).map(toldWebhook)) };
}

const toldWebhook = ({ at, event, attempt, status }: ToldWebhook): TimelineRow => ({
  at,
  kind: 'webhook',
  message: status === 0 ? `A webhook did not answer to ${event}` : `A webhook answered ${status} to ${event}`,
  data: { event, attempt, status },
});

/** Both in their order; what happened in one millisecond is told before whom it was told to. */
function merged(own: readonly TimelineRow[], told: readonly TimelineRow[]): TimelineRow[] {
  const items: TimelineRow[] = [];
  let n = 0;
  for (const row of own) {
    while (n < told.length && told[n]!.at < row.at) items.push(told[n++]!);
    items.push(row);
  }
  return [...items, ...told.slice(n)];
}
