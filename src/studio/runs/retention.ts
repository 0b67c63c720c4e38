import { oldRows, retentionRule } from '../../platform/db/index.ts';
import type { RunsDeps } from './deps.ts';

const OLD = oldRows('runs', 'touched_at', (sql) => sql`not t.is_active`);
/** What RT13 keeps: since it was touched last. */
export const runsRetention = retentionRule('AI_DESIGNER_SESSION_RETENTION_DAYS', ['old-runs'], OLD.due);

/** Deletes runs that nobody has touched for so long, at most `limit`; answers how many. Files and drafts stay. */
export const dropOldRuns = ({ sql, runDays }: Pick<RunsDeps, 'sql' | 'runDays'>, limit: number): Promise<number> =>
  OLD.drop(sql, runDays, limit);
