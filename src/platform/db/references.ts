import type { Database, Fragment, Sql } from './client.ts';

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
  const rows = await sql<{ name: string; n: number }[]>`/* all orgs */
    select *
    from (${unionOf(
      sql,
      [...conditions],
      ([name, where]) => sql`
      select ${name}::text as name, count(*)::int as n from ${sql(name)} where ${where}`,
    )}
    ) counts
    where n > 0`;
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

/** One statement in the place of one for each table. */
const unionOf = <T>(sql: Sql, items: readonly T[], select: (item: T) => Fragment): Fragment =>
  items.map(select).reduce((all, one) => sql`${all} union all ${one}`);

/**
 * The tables whose rows go with an organization and are found by it along an index, those first that no other of them
 * refers to: so what is deleted of one takes little of others along.
 */
async function tablesOfOrganizations(sql: Sql): Promise<string[]> {
  const references = await sql<{ child: string; parent: string; isCascade: boolean; isFound: boolean }[]>`
    select c.conrelid::regclass::text as child, c.confrelid::regclass::text as parent,
      c.confdeltype = 'c' as "isCascade", exists (
        select
        from pg_index i
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = c.conrelid
          and i.indpred is null
          and a.attname = 'org_id'
      ) as "isFound"
    from pg_constraint c
    where c.contype = 'f'
      and c.connamespace = current_schema()::regnamespace
      and c.conrelid <> c.confrelid
    order by 1, 2`;
  const reached = new Set(['organizations']);
  for (const parent of reached)
    for (const one of references) if (one.isCascade && one.parent === parent) reached.add(one.child); // grows while it is walked
  const left = new Set(
    references.filter(({ child, isFound }) => isFound && reached.has(child)).map((one) => one.child),
  );
  const ordered: string[] = [];
  while (left.size > 0) {
    const held = new Set(
      references.filter(({ child, parent }) => left.has(child) && left.has(parent)).map(({ parent }) => parent),
    );
    const free = [...left].filter((name) => !held.has(name));
    for (const name of free.length > 0 ? free : [...left]) {
      ordered.push(name);
      left.delete(name);
    }
  }
  return ordered;
}

/** The tables that have more than `most` rows of an organization. */
export async function tablesWithMany(sql: Sql, orgId: string, most: number): Promise<string[]> {
  const names = await tablesOfOrganizations(sql);
  const rows = await sql<{ name: string }[]>`
    select name
    from (${unionOf(
      sql,
      names,
      (name) => sql`
      select ${name}::text as name, exists (
        select from ${sql(name)} where org_id = ${orgId} offset ${most} limit 1
      ) as "isMany"`,
    )}
    ) tables
    where "isMany"`;
  const many = new Set(rows.map(({ name }) => name));
  return names.filter((name) => many.has(name));
}

/**
 * Deletes rows of an organization, `most` in a commit, from tables that have more of them: what is left can go with it
 * in one statement. A transaction that deleted millions would hold back every listener of facts until its end. False:
 * `mayGoOn` said no before all of that was done. `inPart`: the transaction of one part.
 */
export async function deleteInParts(
  sql: Database,
  orgId: string,
  most: number,
  { mayGoOn, inPart }: { mayGoOn(): boolean; inPart(work: (tx: Sql) => Promise<number>): Promise<number> },
): Promise<boolean> {
  for (const name of await tablesWithMany(sql, orgId, most))
    for (let count = most; count === most;) {
      if (!mayGoOn()) return false;
      count = await inPart(async (tx) => {
        const rows = await tx`
          delete from ${tx(name)}
          where ctid = any(array(
            select ctid
            from ${tx(name)}
            where org_id = ${orgId}
            limit ${most}
            for update
            skip locked
          ))`;
        return rows.count;
      });
    }
  return true;
}
