import type { Database } from '../../../../src/platform/db/index.ts';

// Tables that are filled and emptied again and again, and are each time as they were at first.

const inSchemas = (schemas: readonly string[]) =>
  `c.relkind = 'r' and c.relnamespace in (${schemas.map((name) => `'${name}'::regnamespace`).join(', ')})`;

/** Nothing moves rows of these tables by itself. */
export const leaveUnvacuumed = (sql: Database, schemas: readonly string[]) =>
  sql.unsafe(`
    do $$
    declare one regclass;
    begin
      for one in select c.oid from pg_class c where ${inSchemas(schemas)}
      loop execute format('alter table %s set (autovacuum_enabled = false)', one); end loop;
    end $$`);

/** Has the planner take every table for an almost empty one, whatever is or was in it. */
export const planAlike = (sql: Database, schemas: readonly string[]) =>
  sql.unsafe(
    `update pg_class c set relpages = 1, reltuples = 0 where ${inSchemas(schemas)} and (relpages, reltuples) <> (1, 0)`,
  );

/**
 * Empties the tables of these schemas but for `kept`, whatever refers to them, and starts all sequences anew. Rows that
 * come lie then where they would in new tables; of an index pages without entries may be left, in no other order.
 */
export async function emptyAll(sql: Database, schemas: readonly string[], kept: readonly string[]): Promise<void> {
  const names = await findFilled(sql, schemas, kept);
  await sql.unsafe(`
    begin;
    set local session_replication_role = replica; -- without references and triggers
    ${names.map((name) => `delete from ${name};`).join('\n')}
    select setval(seqrelid::regclass, seqstart, false) from pg_sequence;
    commit`);
  for (let left = names; left.length > 0; left = await findFilled(sql, schemas, kept))
    await sql.unsafe(`vacuum (index_cleanup on) ${left.join(', ')}`); // again where somebody looks at the database
  await planAlike(sql, schemas);
}
async function findFilled(sql: Database, schemas: readonly string[], kept: readonly string[]): Promise<string[]> {
  const filled = await sql.unsafe<{ name: string }[]>(`
    select c.oid::regclass::text as name
    from pg_class c
    where ${inSchemas(schemas)} and pg_relation_size(c.oid) > 0
    order by 1`);
  return filled.map(({ name }) => name).filter((name) => !kept.includes(name));
}
