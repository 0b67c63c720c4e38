import type { Config } from '../../platform/config/index.ts';
import { type CronRun, findDueByAge, listRuns, type RetentionRule, type Sql } from '../../platform/db/index.ts';
import { RETENTION_VARIABLES } from './variables.ts';

/** One setting that says how long something is kept, and what it means now. */
export interface RetentionLine {
  variable: string;
  days: number;
  /** Rows that the next run deletes, or forgets a part of. */
  due: number;
  oldest: Date | null;
  /** Its sweeps as they last ran; some do more than this. */
  runs: readonly CronRun[];
}

interface RetentionDeps {
  sql: Sql;
  rules: readonly RetentionRule[];
  config: Pick<Config, 'retention' | 'http'>;
}

/** What each setting is about, counted by the conditions of the sweeps; nothing is deleted. */
export async function readRetention({ sql, rules, config }: RetentionDeps): Promise<RetentionLine[]> {
  const runs = new Map((await listRuns(sql)).map((run) => [run.name, run]));
  const lines: RetentionLine[] = [];
  for (const [variable, key] of Object.entries(RETENTION_VARIABLES)) {
    const days = config.retention[key];
    const own = rules.filter((rule) => rule.variable === variable);
    const found = [];
    for (const rule of own) found.push(await findDueByAge(sql, rule, { days }));
    const ages = found.flatMap(({ oldest }) => (oldest ? [oldest.getTime()] : []));
    lines.push({
      variable,
      days,
      due: found.reduce((sum, { due }) => sum + due, 0),
      oldest: ages.length > 0 ? new Date(Math.min(...ages)) : null,
      runs: [...new Set(own.flatMap(({ sweeps }) => sweeps))].map((name) => runs.get(name) ?? neverRun(name)),
    });
  }
  return lines;
}

const neverRun = (name: string): CronRun => ({
  name,
  lastRunAt: null,
  lastStatus: null,
  lastDurationMs: null,
  lastChanged: null,
});

/** How long things are kept, for operators. */
export const openRetention = (deps: RetentionDeps) => ({ report: () => readRetention(deps) });
export type RetentionRoom = ReturnType<typeof openRetention>;
