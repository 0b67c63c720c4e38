import { groupCommit, type Sql } from '../../../platform/db/index.ts';
import type { Attempt } from './attempt.ts';

const own = (sql: Sql, { orgId, postId, attempt, incarnation }: Attempt) =>
  sql`org_id = ${orgId} and id = ${postId} and attempt = ${attempt} and incarnation = ${incarnation} and state = 'QUEUE'`;

/** Writes what the adapter wants to find again. False: the attempt is not this host's any more, and must not go on. */
export const saveHandle = async (sql: Sql, attempt: Attempt, value: unknown): Promise<boolean> =>
  (await sql`update posts set saved = ${JSON.stringify({ value })}::text::jsonb where ${own(sql, attempt)} and detail = 'publishing' returning id`).length > 0;

/** Writes that the request is about to leave, for networks that cannot be asked afterwards. False where the attempt is stale. */
export const markSent = groupCommit(async (sql: Sql, attempts: readonly Attempt[]): Promise<boolean[]> => {
  const rows = await sql<{ n: number }[]>`
    update posts p set request_sent_at = now()
    from unnest(${attempts.map(({ orgId }) => orgId)}::uuid[], ${attempts.map(({ postId }) => postId)}::uuid[], ${attempts.map(({ attempt }) => attempt)}::int[], ${attempts.map(({ incarnation }) => incarnation)}::text[])
      with ordinality as t (org_id, post_id, attempt, incarnation, n)
    where p.org_id = t.org_id and p.id = t.post_id and p.attempt = t.attempt and p.incarnation = t.incarnation and p.state = 'QUEUE' and p.detail = 'publishing'
    returning t.n::int`;
  const held = new Set(rows.map(({ n }) => n));
  return attempts.map((_, index) => held.has(index + 1));
});

/** How a settled attempt reads, for a host whose commit was answered by a broken connection. */
export async function endOf(
  sql: Sql,
  { orgId, postId, attempt }: Attempt,
): Promise<{ state: string; detail: string | null; incarnation: string | null; sameAttempt: boolean; lookUpAt: Date | null } | undefined> {
  const [row] = await sql<{ state: string; detail: string | null; incarnation: string | null; sameAttempt: boolean; lookUpAt: Date | null }[]>`
    select state, detail, incarnation, attempt = ${attempt} as "sameAttempt", look_up_at as "lookUpAt" from posts where org_id = ${orgId} and id = ${postId}`;
  return row;
}
