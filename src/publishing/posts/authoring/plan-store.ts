import type { Sql } from '../../../platform/db/index.ts';
import type { FieldError } from '../../../platform/kernel/index.ts';
import type { Warning } from './warnings.ts';

/**
 * A row of a plan: its body as it was sent, with what was warned of (absent in what an earlier release has written), or
 * why it cannot be created.
 */
export type PlanItem =
  | { index: number; body: unknown; errors?: never; warnings?: Warning[] }
  | { index: number; errors: FieldError[]; warnings?: never };

/** The scope of the idempotency keys under which it is kept what plans came to. */
export const PLAN_SCOPE = 'post plan';
/** Plans of one organization that are kept. */
const MOST_PLANS = 20;

/**
 * Keeps a plan for an hour. Answers the items of the plan that has this id already: a request that is repeated means the
 * same plan.
 */
export async function insertPlan(
  sql: Sql,
  orgId: string,
  planId: string,
  items: readonly PlanItem[],
): Promise<readonly PlanItem[]> {
  const inserted = await sql`
    with older as (
      delete from post_plans
      where id in (
        select id
        from post_plans
        where org_id = ${orgId}
        order by created_at desc
        offset ${MOST_PLANS - 1}
      )
    )
    insert into post_plans as p (id, org_id, items)
    values (${planId}, ${orgId}, ${JSON.stringify(items)})
    on conflict (id) do update
      set items = excluded.items, created_at = now()
      where p.created_at < now() - interval '1 hour'
    returning id`;
  // behind it: a statement that waited for the same plan would not see it
  return inserted.length > 0 ? items : ((await findPlan(sql, orgId, planId))?.items ?? items);
}

/** A plan with its rows; undefined where the organization has none of this id. */
export async function findPlan(
  sql: Sql,
  orgId: string,
  planId: string,
): Promise<{ items: readonly PlanItem[]; isOver: boolean } | undefined> {
  const [row] = await sql<{ items: string; isOver: boolean }[]>`
    select items, created_at < now() - interval '1 hour' as "isOver"
    from post_plans
    where org_id = ${orgId}
      and id = ${planId}`;
  return row && { items: parseItems(row.items), isOver: row.isOver };
}

const parseItems = (text: string) => JSON.parse(text) as PlanItem[]; // as `insertPlan` wrote it

/** Forgets at most `limit` plans that are a day old; answers how many. */
export async function dropOldPlans(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from post_plans
    where id = any(array(
      select id
      from post_plans
      where created_at < now() - interval '1 day'
      order by created_at
      limit ${limit}
    ))`;
  return count;
}
