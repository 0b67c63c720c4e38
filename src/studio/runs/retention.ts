import { retentionRule, rowsOlder } from '../../platform/db/index.ts';
import type { RunsDeps } from './deps.ts';

/** What RT13 keeps: since it was touched last. */
export const runsRetention = retentionRule(
  'AI_DESIGNER_SESSION_RETENTION_DAYS',
  ['old-runs'],
  rowsOlder('runs', 'touched_at', (sql) => sql`not t.is_active`),
);

/** Deletes runs that nobody has touched for so long, at most `limit`; answers how many. Files and drafts stay. */
export async function dropOldRuns({ sql, runDays }: Pick<RunsDeps, 'sql' | 'runDays'>, limit: number): Promise<number> {
  const { count } = await sql`
    /* all orgs */
    delete from runs
    where id in (
      select id
      from runs
      where touched_at < now() - ${runDays}::int * interval '1 day'
        and not is_active
      order by touched_at
      limit ${limit}
      for update
      skip locked
    )`;
  return count;
}
