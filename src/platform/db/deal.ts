import type { Fragment, Sql } from './client.ts';

/** Rows that one scan deals: the oldest, should more be waiting than a process works off in minutes. */
const MOST_DEALT = 50_000;

/**
 * Deals what a scan over all organizations finds round robin over them: the oldest row of each, then the second of
 * each, at most `limit`. So one that has thousands waiting holds up another by one row, not by one scan after another.
 * `waiting` selects `"orgId"`, what else is wanted, and `at`, by which rows of one organization follow each other; it
 * reads an index in that order. Where little waits this costs no more than the scan itself.
 */
export const dealt = (sql: Sql, waiting: Fragment, limit: number): Fragment => sql`(
    select *
    from (
      select oldest.*, row_number() over (partition by oldest."orgId" order by oldest.at) as turn
      from (
        ${waiting}
        order by at
        limit ${MOST_DEALT}
      ) oldest
    ) turns
    order by turn, at
    limit ${limit}
  )`;
