import type { Database } from '../../platform/db/index.ts';
import { bind } from '../../platform/kernel/index.ts';
import { getStreak, remindOfStreaks } from './streaks.ts';
export { streaksListener } from './listen.ts';
export type { Streak } from './streaks.ts';

export type Streaks = ReturnType<typeof openStreaks>;

/** Opens the days in a row on which organizations publish. */
export const openStreaks = (deps: { sql: Database }) => bind(deps, { getStreak, remindOfStreaks });
