import type { Fragment, Sql } from './client.ts';

interface Reference {
  child: string;
  columns: string[];
  parent: string;
  parentColumns: string[];
}

/** The foreign keys of this schema by which rows are deleted with those that they refer to. */
const cascades = (sql: Sql) => sql<Reference[]>`
  select child.relname as child, parent.relname as parent, array(
      select a.attname::text
      from unnest(c.conkey) with ordinality k (number, n)
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number
      order by n
    ) as columns, array(
      select a.attname::text
      from unnest(c.confkey) with ordinality k (number, n)
      join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number
      order by n
    ) as "parentColumns"
  from pg_constraint c
  join pg_class child on child.oid = c.conrelid
  join pg_class parent on parent.oid = c.confrelid
  where c.contype = 'f'
    and c.confdeltype = 'c'
    and child.relnamespace = current_schema()::regnamespace
    and child.oid <> parent.oid
  order by child.relname, c.conname`;

/**
 * Counts, by table, the rows that are deleted with rows of one table: those themselves, those that refer to them, those
 * that refer to these. A table is counted by the shortest way that leads to it; one without rows is left out.
 */
export async function countCascade(sql: Sql, tableName: string, condition: Fragment): Promise<Record<string, number>> {
  const references = await cascades(sql);
  const conditions = new Map<string, Fragment>([[tableName, condition]]);
  for (const [parent, where] of conditions)
    // grows while it is walked: breadth first
    for (const { child, columns, parentColumns } of references.filter((one) => one.parent === parent))
      if (!conditions.has(child))
        conditions.set(
          child,
          sql`(${sql(columns)}) in (select ${sql(parentColumns)} from ${sql(parent)} where ${where})`,
        );
  const counts: Record<string, number> = {};
  for (const [name, where] of conditions) {
    const [row] = await sql<{ n: number }[]>`/* all orgs */ select count(*)::int as n from ${sql(name)} where ${where}`;
    if (row!.n > 0) counts[name] = row!.n;
  }
  return counts;
}
