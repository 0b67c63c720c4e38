import type { Fragment, Sql } from './client.ts';

/** Asks which of these conditions, each a boolean expression, hold: one statement, whatever their number. */
export async function findTrue<Name extends string>(
  sql: Sql,
  conditions: Readonly<Record<Name, Fragment>>,
): Promise<ReadonlySet<Name>> {
  const [first, ...more] = (Object.entries(conditions) as [Name, Fragment][]).map(
    ([name, condition]) => sql`select ${name}::text as name where ${condition}`,
  );
  const rows = await sql<{ name: Name }[]>`/* all orgs */
    ${more.reduce((all, one) => sql`${all} union all ${one}`, first ?? sql`select null::text as name where false`)}`;
  return new Set(rows.map(({ name }) => name));
}
