import type { Sql } from '../../platform/db/index.ts';

export interface CustomerRow {
  id: string;
  name: string;
}

export const customersOfOrg = (sql: Sql, orgId: string): Promise<CustomerRow[]> =>
  sql<CustomerRow[]>`select id, name from customers where org_id = ${orgId} order by lower(name)`;

/** The customer of that name, made on first use. */
export async function ensureCustomer(sql: Sql, orgId: string, id: string, name: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into customers (id, org_id, name)
    values (${id}, ${orgId}, ${name})
    on conflict (org_id, lower(name)) do update
    set name = customers.name
    returning id`;
  return row!.id;
}

/** Puts a channel into a group, or with null out of its group. `unknown_group`: the org has none of that id. */
export async function setCustomer(
  sql: Sql,
  orgId: string,
  id: string,
  customerId: string | null,
): Promise<'set' | 'missing' | 'unknown_group'> {
  if (
    customerId !== null &&
    (await sql`select 1 from customers where org_id = ${orgId} and id = ${customerId}`).length === 0
  )
    return 'unknown_group';
  const rows = await sql`
      update channels
      set customer_id = ${customerId}, updated_at = now()
      where org_id = ${orgId} and id = ${id} and deleted_at is null
      returning 1`;
  return rows.length > 0 ? 'set' : 'missing';
}
