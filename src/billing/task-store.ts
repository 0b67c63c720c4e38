import type { Sql } from '../db/index.ts';
import { newId } from '../kernel/index.ts';
import type { Tier } from './plans.ts';

/** What the processor must be told, or asked, because of a commit. */
export type Task =
  | { kind: 'cancel'; subscription: string; refundRest: boolean }
  /** The lower plan has begun: its metadata says so. */
  | { kind: 'settle'; subscription: string; tier: Tier }
  /** Events of it came in an order that says nothing: the processor knows how it stands. */
  | { kind: 'sync'; subscription: string };

export interface TaskRow {
  id: string;
  orgId: string;
  kind: Task['kind'];
  subscription: string;
  data: { refundRest?: boolean; tier?: Tier };
  attempts: number;
}

/** In the transaction that makes it necessary. One that waits already is enough, and has the latest words. */
export async function addTask(sql: Sql, orgId: string, { kind, subscription, ...data }: Task): Promise<void> {
  await sql`
    insert into payment_tasks (id, org_id, kind, subscription_id, data) values (${newId()}, ${orgId}, ${kind}, ${subscription}, ${sql.json(data)})
    on conflict (subscription_id, kind) do update set id = excluded.id, data = excluded.data, attempts = 0, due_at = now()`;
}

/** Takes due tasks, of one org or of all; whoever does not finish one leaves it to be taken again. */
export const takeTasks = (sql: Sql, orgId: string | undefined, limit: number) => sql<TaskRow[]>`
  update payment_tasks t set attempts = attempts + 1, due_at = now() + least(interval '6 hours', interval '1 minute' * 2 ^ least(attempts, 10))
  where id in (
    select id from payment_tasks /* all orgs */ where due_at <= now() ${orgId === undefined ? sql`` : sql`and org_id = ${orgId}`} order by due_at limit ${limit} for update skip locked
  )
  returning id, org_id as "orgId", kind, subscription_id as subscription, data, attempts`;
export const endTask = (sql: Sql, orgId: string, id: string) => sql`delete from payment_tasks where org_id = ${orgId} and id = ${id}`;
export const failTask = (sql: Sql, orgId: string, id: string, error: string) =>
  sql`update payment_tasks set last_error = ${error} where org_id = ${orgId} and id = ${id}`;
