import type { Fragment, Sql } from './client.ts';

interface RetentionNeeds {
  days: number;
}
/** Selects rows that are due, each with its age as `at`. */
type DueRows = (sql: Sql, needs: RetentionNeeds) => Fragment;

/** What is deleted, or forgotten in rows that stay, once it is so many days old. */
export interface RetentionRule {
  /** The setting with the days. */
  variable: string;
  /** The sweeps that do it, by name. */
  sweeps: readonly string[];
  due: readonly DueRows[];
}

/** Declares a rule beside its table; `src/context.ts` lists it. */
export const retentionRule = (
  variable: string,
  sweeps: readonly string[],
  ...due: readonly [DueRows, ...DueRows[]]
): RetentionRule => ({ variable, sweeps, due });

/** Rows of a table that are old: what a rule counts is what is deleted. */
interface OldRows {
  due: DueRows;
  /** Deletes at most `limit` of them, the oldest first; answers how many. */
  drop(sql: Sql, days: number, limit: number): Promise<number>;
}
/** Rows of a table, with an `id`, whose instant in a column is so many days ago; `more`: of a row `t`. */
export function oldRows(
  tableName: string,
  ageColumn: string,
  more: (sql: Sql) => Fragment = (sql) => sql`true`,
): OldRows {
  const isOld = (sql: Sql, days: number) =>
    sql`t.${sql(ageColumn)} < now() - ${days}::int * interval '1 day' and ${more(sql)}`;
  return {
    due: (sql, { days }) => sql`select t.${sql(ageColumn)} as at from ${sql(tableName)} t where ${isOld(sql, days)}`,
    async drop(sql, days, limit) {
      const { count } = await sql`
        /* all orgs */
        delete from ${sql(tableName)}
        where id = any(array(
          select t.id
          from ${sql(tableName)} t
          where ${isOld(sql, days)}
          order by t.${sql(ageColumn)}
          limit ${limit}
          for update of t
          skip locked
        ))`;
      return count;
    },
  };
}

/** Rows that are counted of each kind at most: beyond it the exact number says nothing more. */
const MOST_COUNTED = 1_000_000;

/** Counts what is due by a rule now, and tells how old the oldest of it is. */
export async function findDueByAge(
  sql: Sql,
  { due }: RetentionRule,
  needs: RetentionNeeds,
): Promise<{ due: number; oldest: Date | null }> {
  let count = 0;
  let oldest: Date | null = null;
  for (const rows of due) {
    const [found] = await sql<{ n: number; oldest: Date | null }[]>`/* all orgs */
      select count(*)::int as n, min(at) as oldest
      from (
        select at
        from (${rows(sql, needs)}) due
        order by at
        limit ${MOST_COUNTED}
      ) counted`;
    count += found!.n;
    if (found!.oldest && (!oldest || found!.oldest < oldest)) oldest = found!.oldest;
  }
  return { due: count, oldest };
}
