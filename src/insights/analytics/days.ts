import { invalidField } from '../../platform/kernel/index.ts';

// Days are UTC dates, `2026-11-23`; they sort as texts.

const DAY_MS = 86_400_000;
/** The longest range that one answer tells. */
const MOST_DAYS = 1_100;
const USUAL_DAYS = 30;

export interface DayRange {
  from: string;
  to: string;
}

export const utcDayOf = (instant: Date): string => instant.toISOString().slice(0, 10);
export const plusDays = (day: string, days: number): string => utcDayOf(new Date(Date.parse(day) + days * DAY_MS));
export const mondayOf = (day: string): string => plusDays(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));
export const lengthOf = ({ from, to }: DayRange): number => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;

/** The last whole days before an instant. */
export function lastDays(now: Date, days: number): DayRange {
  const today = utcDayOf(now);
  return { from: plusDays(today, -days), to: plusDays(today, -1) };
}

/** As many days, just before. */
export const rangeBefore = (range: DayRange): DayRange => ({
  from: plusDays(range.from, -lengthOf(range)),
  to: plusDays(range.from, -1),
});

/**
 * The range that a query asks for, by default the last 30 whole days. It ends today at the latest, as no later day has
 * numbers, or on the day that it begins with.
 * @throws AppError 400 naming the field of an end before the start, or of too many days
 */
export function askedRange({ from, to }: { from?: string | undefined; to?: string | undefined }, now: Date): DayRange {
  const today = utcDayOf(now);
  if (from !== undefined && to !== undefined && to < from)
    throw invalidField('to', 'must not be before from', 'too_small');
  if (from !== undefined && lengthOf({ from, to: to ?? plusDays(today, -1) }) > MOST_DAYS)
    throw invalidField('to', `must be at most ${MOST_DAYS} days after from`, 'too_big');
  const last = [to ?? plusDays(today, -1), today].toSorted()[0]!;
  const end = [last, from ?? ''].toSorted()[1]!;
  return { from: from ?? plusDays(end, 1 - USUAL_DAYS), to: end };
}

/** What a plan shows of a range (LM8); undefined: nothing. `days`: how long the plan shows numbers. */
export function shownRange({ from, to }: DayRange, now: Date, days: number): DayRange | undefined {
  const first = plusDays(utcDayOf(now), -days);
  const start = from < first ? first : from;
  return start <= to ? { from: start, to } : undefined;
}

/**
 * The same of a range by ISO weeks, which are whole: those that it touches, but for one that the plan shows a part of.
 * That of today ends with the last whole day, or with a later one that is asked for.
 */
export function shownWeeks({ from, to }: DayRange, now: Date, days: number): DayRange | undefined {
  const asked = [to, plusDays(utcDayOf(now), -1)].toSorted()[1]!;
  const end = [plusDays(mondayOf(to), 6), asked].toSorted()[0]!;
  const shown = shownRange({ from: mondayOf(from), to: end }, now, days);
  const start = shown && mondayOf(plusDays(shown.from, 6));
  return start !== undefined && start <= end ? { from: start, to: end } : undefined;
}
