import { z } from 'zod';

const DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?))?\s*(Z|[+-]\d{2}:?\d{2})?$/i;
/** Years of four digits that the database and every client can hold, in every time zone. */
const [FIRST_YEAR, LAST_YEAR] = [1, 9_000];

/**
 * A date of ISO 8601: with `Z`, with an offset, or with none, which is UTC (S104); else the sentence that says why it
 * is none.
 */
function judgeDate(text: string): Date | string {
  const parts = DATE.exec(text.trim());
  if (!parts) return 'is not a date of ISO 8601, like 2026-01-31T18:00:00Z';
  const [, day = '', time = '00:00', zone = 'Z'] = parts;
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day)
    return 'names a day that no calendar has';
  const offset = /^z$/i.test(zone) ? 'Z' : zone.replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2');
  const date = new Date(`${day}T${time.replace(',', '.').replace(/(\.\d{3})\d+$/, '$1')}${offset}`);
  if (Number.isNaN(date.getTime())) return 'names a time or an offset that no day has';
  const year = date.getUTCFullYear();
  return year < FIRST_YEAR || year > LAST_YEAR ? `must lie in the years ${FIRST_YEAR} to ${LAST_YEAR}` : date;
}
/** Undefined: unreadable, no day of the calendar, or out of range. */
export function readDate(text: string): Date | undefined {
  const date = judgeDate(text);
  return typeof date === 'string' ? undefined : date;
}
/** Reads a date, or notes on the field why it is none. */
export function asDate(text: string, { issues }: { issues: z.core.$ZodRawIssue[] }): Date {
  const date = judgeDate(text);
  if (typeof date !== 'string') return date;
  issues.push({ code: 'invalid_format', format: 'datetime', message: date, input: text });
  return z.NEVER;
}
/** A date of ISO 8601 as an instant. */
export const DateText = z.string().max(100).transform(asDate);

/** Reads a date whose clocks may be those of a zone that stands elsewhere: `isLocal` without an offset of its own. */
export const asLocalDate = (
  text: string,
  check: { issues: z.core.$ZodRawIssue[] },
): { at: Date; isLocal: boolean } => ({
  at: asDate(text, check),
  isLocal: DATE.exec(text.trim())?.[3] === undefined,
});
