import type { Sql } from '../../platform/db/index.ts';
import type { Dimension, Tier } from '../../entitlements/index.ts';
import type { Period } from './subscription-rules.ts';

export interface Intent {
  item: Tier | Dimension;
  period: Period;
  packs: number;
}
export interface CheckoutRow extends Intent {
  id: string;
  trial: boolean;
  sessionId: string | null;
  url: string | null;
}

/** Lists open checkouts of the org, newest first. */
export const listOpenCheckouts = (sql: Sql, orgId: string) => sql<CheckoutRow[]>`
  select id, item, period, packs, trial, session_id as "sessionId", url
  from payment_checkouts
  where org_id = ${orgId}
    and done_at is null
    and dropped_at is null
  order by created_at desc, id desc`;

/** Under the lock of the org: the time of the row is in the order of the wishes. */
export const insertCheckout = (
  sql: Sql,
  orgId: string,
  { id, userId, item, period, packs, trial }: Intent & { id: string; userId: string; trial: boolean },
) => sql`
  insert into payment_checkouts (id, org_id, user_id, item, period, packs, trial, created_at)
  values (${id}, ${orgId}, ${userId}, ${item}, ${period}, ${packs}, ${trial}, clock_timestamp())`;
export const keepSession = (sql: Sql, orgId: string, id: string, session: { id: string; url: string }) => sql`
  update payment_checkouts
  set session_id = ${session.id}, url = ${session.url}
  where org_id = ${orgId}
    and id = ${id}`;

/** By its id as the processor repeats it, which may be any text. */
export const endCheckout = (sql: Sql, orgId: string, id: string) => sql`
  update payment_checkouts
  set done_at = now(), dropped_at = null
  where org_id = ${orgId}
    and id::text = ${id}
    and done_at is null`;
export const dropCheckout = (sql: Sql, orgId: string, id: string) => sql`
  update payment_checkouts
  set dropped_at = now()
  where org_id = ${orgId}
    and id::text = ${id}
    and done_at is null
    and dropped_at is null`;

/** Reads the state of a checkout for the return page: 0 not found, 1 pending, 2 done (S64). */
export async function checkoutStatus(sql: Sql, orgId: string, id: string): Promise<0 | 1 | 2> {
  const [row] = await sql<{ status: 0 | 1 | 2 }[]>`
    select case when done_at is not null then 2 when dropped_at is not null then 0 else 1 end as status
    from payment_checkouts
    where org_id = ${orgId}
      and id = ${id}`;
  return row?.status ?? 0;
}

/** The processor gives a page up after a day. */
export const oldCheckouts = (sql: Sql, limit: number) => sql<{ id: string; orgId: string; sessionId: string | null }[]>`
  select id, org_id as "orgId", session_id as "sessionId"
  from payment_checkouts /* all orgs */
  where done_at is null
    and dropped_at is null
    and created_at < now() - interval '25 hours'
  order by created_at
  limit ${limit}`;
