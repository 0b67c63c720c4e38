// The days that a recurrence rule names (RFC 5545, 3.3.10), in whole numbers: a day is counted from 1970-01-01, without a
// zone. A list of posts asks for thousands of them, and the library that this is compared with takes 0.1 ms for each.

const DAY_MS = 86_400_000;
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
/** Periods that are looked through for a day: a rule that names none in so many of them names none. */
const MOST_PERIODS = { DAILY: 3_000, WEEKLY: 600, MONTHLY: 600, YEARLY: 200 };

interface Weekday {
  /** 0: Monday. */
  weekday: number;
  /** Which one of its month or year, from the end where it is negative; 0: each. */
  nth: number;
}
interface Parts {
  freq: keyof typeof MOST_PERIODS;
  interval: number;
  byDay: readonly Weekday[] | undefined;
  byMonthDay: readonly number[] | undefined;
  byMonth: readonly number[] | undefined;
  bySetPos: readonly number[] | undefined;
  weekStart: number;
}

/** A day, with what rules ask of it. */
interface Dated {
  day: number;
  /** From 1. */
  month: number;
  /** Of its month, from 1. */
  date: number;
  daysOfMonth: number;
}

const dayOf = (year: number, month: number, date: number): number => Date.UTC(year, month - 1, date) / DAY_MS;
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7;
const range = (from: number, length: number): number[] => Array.from({ length }, (_, n) => from + n);

function partsOf(days: string): Parts {
  const parts = new Map(days.split(';').map((part) => part.split('=') as [string, string]));
  const numbers = (name: string) => parts.get(name)?.split(',').map(Number);
  return {
    freq: parts.get('FREQ') as Parts['freq'],
    interval: Number(parts.get('INTERVAL') ?? 1),
    byDay: parts
      .get('BYDAY')
      ?.split(',')
      .map((one) => ({ weekday: WEEKDAYS.indexOf(one.slice(-2)), nth: Number(one.slice(0, -2)) })),
    byMonthDay: numbers('BYMONTHDAY'),
    byMonth: numbers('BYMONTH'),
    bySetPos: numbers('BYSETPOS'),
    weekStart: WEEKDAYS.indexOf(parts.get('WKST') ?? 'MO'),
  };
}

function dated(day: number): Dated {
  const at = new Date(day * DAY_MS);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth() + 1];
  return { day, month, date: at.getUTCDate(), daysOfMonth: new Date(Date.UTC(year, month, 0)).getUTCDate() };
}

const isInMonths = ({ byMonth }: Parts, { month }: Dated): boolean => byMonth?.includes(month) ?? true;
const isOfMonth = ({ byMonthDay }: Parts, { date, daysOfMonth }: Dated): boolean =>
  byMonthDay?.some((one) => date === (one > 0 ? one : daysOfMonth + 1 + one)) ?? true;
/** `at`: the place of the day in its month or year, from 1, of so many days. */
const isOfWeekday = ({ byDay }: Parts, day: number, at: number, length: number): boolean =>
  byDay?.some(
    ({ weekday, nth }) =>
      weekday === weekdayOf(day) &&
      (nth === 0 || (nth > 0 ? Math.ceil(at / 7) === nth : Math.ceil((length + 1 - at) / 7) === -nth)),
  ) ?? true;

/** The days of a rule from the day `start` on, by the numbers of its periods, from 0. */
class Rule {
  readonly #parts: Parts;
  readonly #start: Dated;
  readonly #startYear: number;
  /** Days that were looked at. */
  looked = 0;

  constructor(days: string, start: number) {
    this.#parts = partsOf(days);
    this.#start = dated(start);
    this.#startYear = new Date(start * DAY_MS).getUTCFullYear();
  }

  get mostPeriods(): number {
    return MOST_PERIODS[this.#parts.freq];
  }

  /** The number of the last period that begins at `day` or before; not below 0. */
  periodAt(day: number): number {
    const { freq, interval, weekStart } = this.#parts;
    const { day: start, month } = this.#start;
    const at = new Date(day * DAY_MS);
    const years = at.getUTCFullYear() - this.#startYear;
    const gone = {
      DAILY: day - start,
      WEEKLY: Math.floor((day - start + ((weekdayOf(start) - weekStart + 7) % 7)) / 7),
      MONTHLY: years * 12 + at.getUTCMonth() + 1 - month,
      YEARLY: years,
    };
    return Math.max(0, Math.floor(gone[freq] / interval));
  }

  /** The days that the rule names in a period, in their order. */
  daysIn(period: number): number[] {
    const days = this.#candidates(period);
    const { bySetPos } = this.#parts;
    if (!bySetPos) return days;
    const chosen = new Set(bySetPos.map((at) => days.at(at > 0 ? at - 1 : at)));
    return days.filter((day) => chosen.has(day));
  }

  #candidates(period: number): number[] {
    const { freq, interval, weekStart } = this.#parts;
    const { day: start, month } = this.#start;
    const ahead = period * interval;
    this.looked += freq === 'DAILY' ? 1 : freq === 'WEEKLY' ? 7 : 0; // the others by their months
    if (freq === 'DAILY') return [start + ahead].filter((day) => this.#isNamed(day));
    if (freq === 'WEEKLY')
      return range(start - ((weekdayOf(start) - weekStart + 7) % 7) + ahead * 7, 7).filter((day) => this.#isNamed(day));
    if (freq === 'MONTHLY') return this.#ofMonth(this.#startYear, month + ahead);
    return this.#ofYear(this.#startYear + ahead);
  }

  #isNamed(day: number): boolean {
    const { freq, byDay, byMonth, byMonthDay } = this.#parts;
    const { day: start } = this.#start;
    if (freq === 'WEEKLY' && !byDay && weekdayOf(day) !== weekdayOf(start)) return false;
    if (!isOfWeekday(this.#parts, day, 0, 0)) return false;
    if (!byMonth && !byMonthDay) return true;
    const at = dated(day);
    return isInMonths(this.#parts, at) && isOfMonth(this.#parts, at);
  }

  /** Of a month; a number beyond 12 is of a later year. What the rule leaves open is as on the first day. */
  #ofMonth(year: number, month: number): number[] {
    const { byDay, byMonthDay } = this.#parts;
    const first = dated(dayOf(year, month, 1));
    this.looked += 1;
    if (!isInMonths(this.#parts, first)) return [];
    this.looked += first.daysOfMonth;
    return range(0, first.daysOfMonth)
      .map((n) => ({ ...first, day: first.day + n, date: n + 1 }))
      .filter(
        (at) =>
          (byDay || byMonthDay || at.date === this.#start.date) &&
          isOfMonth(this.#parts, at) &&
          isOfWeekday(this.#parts, at.day, at.date, at.daysOfMonth),
      )
      .map(({ day }) => day);
  }

  #ofYear(year: number): number[] {
    const { byDay, byMonth, byMonthDay } = this.#parts;
    if (byMonth) return range(1, 12).flatMap((month) => this.#ofMonth(year, month));
    if (!byDay) return (byMonthDay ? range(1, 12) : [this.#start.month]).flatMap((month) => this.#ofMonth(year, month));
    const [first, next] = [dayOf(year, 1, 1), dayOf(year + 1, 1, 1)];
    this.looked += next - first;
    return range(first, next - first).filter(
      (day) =>
        isOfWeekday(this.#parts, day, day - first + 1, next - first) &&
        (!byMonthDay || isOfMonth(this.#parts, dated(day))),
    );
  }
}

/**
 * The days after `start`, and not before `from`, that a rule names: at most `most`, and none after `last`. `days` are the
 * parts of the rule that say on which days. `onLooked` hears how many days each period took to look at, and may throw.
 */
export function daysAfter(
  days: string,
  start: number,
  {
    from,
    last,
    most,
    onLooked,
  }: { from: number; last: number; most: number; onLooked?: ((days: number) => void) | undefined },
): number[] {
  const rule = new Rule(days, start);
  const found: number[] = [];
  let empty = 0;
  for (let period = rule.periodAt(from); empty < rule.mostPeriods; period += 1) {
    const before = rule.looked;
    const named = rule.daysIn(period);
    onLooked?.(rule.looked - before);
    empty = named.length > 0 ? 0 : empty + 1;
    for (const day of named) {
      if (day > last || found.length >= most) return found;
      if (day > start && day >= from) found.push(day);
    }
    if (found.length >= most) return found;
    if (named.length === 0 && rule.periodAt(last) < period) return found;
  }
  return found;
}

/** The day of a local time. */
export const dayOfLocal = (local: string): number => Math.floor(Date.parse(`${local}Z`) / DAY_MS);
/** The date of a day, as local times begin. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
