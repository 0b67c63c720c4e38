import type { Database } from '../db/index.ts';

/** Counts the facts that some listener has not heard, up to 10,000: beyond that the exact number says nothing more. */
export async function countWaiting(sql: Database): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n
    from (select from outbox /* all orgs */ limit 10000) waiting`;
  return row!.n;
}
