import type { Config } from '../../platform/config/index.ts';
import type { RetentionRule, Sql } from '../../platform/db/index.ts';
import { readRetention, type RetentionLine } from '../retention/index.ts';

const day = (date: Date): string => date.toISOString().slice(0, 10);

function textOf({ variable, days, due, oldest, runs }: RetentionLine): string {
  const name = `${variable.padEnd(36)} ${String(days).padStart(5)} days`;
  const told = runs.map(({ name: sweep, lastRunAt, lastStatus, lastChanged }) =>
    lastRunAt
      ? `${sweep} ${lastRunAt.toISOString().slice(0, 16)}Z ${lastStatus}, ${lastChanged} rows`
      : `${sweep} has not run`,
  );
  return `${name}  ${due} due${oldest ? `, the oldest of ${day(oldest)}` : ''}  (${told.join('; ')})`;
}

/** Prints what each setting of retention would delete now. Nothing is deleted: the service does it, every hour. */
export async function printRetention(
  deps: { sql: Sql; rules: readonly RetentionRule[]; config: Pick<Config, 'retention' | 'http'> },
  say: (line: string) => void,
): Promise<void> {
  for (const line of await readRetention(deps)) say(textOf(line));
}
