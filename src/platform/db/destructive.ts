import { statementsOf } from './sql-statements.ts';

/** The parts that an `alter table` may drop without losing what was written. */
const HARMLESS = /\bdrop (constraint|default|not null|identity|expression)\b/g;

/** Tells whether a migration loses tables, columns or rows. */
export const dropsData = (sql: string): boolean =>
  statementsOf(sql).some(
    ({ bare }) =>
      /^(drop (table|schema|database|owned|materialized view|sequence|extension)|truncate|delete from)\b/.test(bare) ||
      (bare.startsWith('alter table') && bare.replaceAll(HARMLESS, '').includes(' drop ')),
  );
