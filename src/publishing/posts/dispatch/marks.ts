import { groupCommit, type Sql } from '../../../platform/db/index.ts';
import { timeline } from '../journal.ts';
import { publishing } from '../state.ts';
import type { Attempt } from './attempt.ts';

// What an attempt notes on its post while it is being sent.

/** Writes what the adapter wants to find again. False: the attempt is not this host's any more, and must not go on. */
export async function saveHandle(
  sql: Sql,
  { orgId, postId, attempt, incarnation }: Attempt,
  value: unknown,
): Promise<boolean> {
  const rows = await sql`
    update posts p
    set saved = jsonb_build_object(
        'value', ${JSON.stringify(value ?? null)}::text::jsonb,
        'since', coalesce(case when not p.saved ? 'ahead' then p.saved ->> 'since' end, now()::text)
      )
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and p.attempt = ${attempt}
      and p.incarnation = ${incarnation}
      and ${publishing(sql)}
    returning p.id`;
  return rows.length > 0;
}

/**
 * Writes that the request is about to leave, for networks that cannot be asked afterwards. False where the attempt is
 * stale.
 */
export const markSent = groupCommit(async (sql: Sql, attempts: readonly Attempt[]): Promise<boolean[]> => {
  const rows = await sql<{ n: number }[]>`
    with sent as (
      update posts p
      set request_sent_at = now()
      from unnest(
        ${attempts.map(({ orgId }) => orgId)}::uuid[],
        ${attempts.map(({ postId }) => postId)}::uuid[],
        ${attempts.map(({ attempt }) => attempt)}::int[],
        ${attempts.map(({ incarnation }) => incarnation)}::text[]
      ) with ordinality as t (org_id, post_id, attempt, incarnation, n)
      where p.org_id = t.org_id
        and p.id = t.post_id
        and p.attempt = t.attempt
        and p.incarnation = t.incarnation
        and ${publishing(sql)}
      returning p.org_id, p.id, p.attempt, t.n::int
    ), ${timeline(sql, {
      from: sql`sent`,
      kind: 'request_sent',
      message: 'From here on the request may be at the network, which cannot be asked about it',
      data: sql`jsonb_build_object('attempt', attempt)`,
    })}
    select n
    from sent`;
  const held = new Set(rows.map(({ n }) => n));
  return attempts.map((_, index) => held.has(index + 1));
});

/** An attempt as its row has it after its result was written. */
export interface AttemptEnd {
  state: string;
  detail: string | null;
  incarnation: string | null;
  sameAttempt: boolean;
  lookUpAt: Date | null;
}

/** How a settled attempt reads, for a host whose commit was answered by a broken connection. */
export async function endOf(sql: Sql, { orgId, postId, attempt }: Attempt): Promise<AttemptEnd | undefined> {
  const [row] = await sql<AttemptEnd[]>`
    select state, detail, incarnation, attempt = ${attempt} as "sameAttempt", look_up_at as "lookUpAt"
    from posts
    where org_id = ${orgId}
      and id = ${postId}`;
  return row;
}
