import { dateOf, dayOfLocal, daysAfter } from './recurrence-days.ts';

/** The parts of a recurrence rule (RFC 5545, 3.3.10) that say on which days; `count` and `until` say how long. */
export interface RecurrenceRule {
  /** The parts that say on which days, in the form of the RFC. */
  days: string;
  count?: number | undefined;
  /** The last moment, as it was written: a day, a local time, or with `Z` one of UTC. */
  until?: string | undefined;
}

const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
const FREQUENCIES = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'];
const KNOWN = ['FREQ', 'INTERVAL', 'BYDAY', 'BYMONTHDAY', 'BYMONTH', 'BYSETPOS', 'WKST', 'COUNT', 'UNTIL'];
const UNTIL = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z?)?$/;
const MOST_COUNTED = 10_000;

/** Whether a text is a whole number from 1 to `max`, or, where that is allowed, from -`max` to -1. */
const isWhole = (text: string, max: number, isSigned = false): boolean =>
  (isSigned ? /^[+-]?\d{1,5}$/ : /^\d{1,5}$/).test(text) && Number(text) !== 0 && Math.abs(Number(text)) <= max;
const isListOf = (text: string | undefined, isOne: (one: string) => boolean): boolean =>
  text === undefined || text.split(',').every(isOne);

/** Reads a recurrence rule of days; else the sentence that says why it is none. */
export function parseRule(text: string): RecurrenceRule | string {
  const parts = text
    .trim()
    .replace(/^RRULE:/i, '')
    .toUpperCase()
    .split(';')
    .map((part) => part.split('='));
  const rule = new Map(parts.map(([name = '', value = '']) => [name, value]));
  if (parts.some((part) => part.length !== 2) || rule.size < parts.length)
    return 'must be parts such as FREQ=WEEKLY;BYDAY=MO, each once';
  const unknown = [...rule.keys()].find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) return `has a part that is not supported; these are: ${KNOWN.join(', ')}`;
  const wrong = wrongPart(rule);
  if (wrong !== undefined) return wrong;
  const count = rule.get('COUNT');
  const days = KNOWN.slice(0, 7).flatMap((name) => (rule.has(name) ? [`${name}=${rule.get(name)}`] : []));
  return { days: days.join(';'), count: count === undefined ? undefined : Number(count), until: rule.get('UNTIL') };
}

function wrongPart(rule: ReadonlyMap<string, string>): string | undefined {
  const [freq, interval, days, monthDays, months, positions, weekStart, count, until] = KNOWN.map((name) =>
    rule.get(name),
  );
  if (freq === undefined || !FREQUENCIES.includes(freq)) return `FREQ must be one of ${FREQUENCIES.join(', ')}`;
  if (interval !== undefined && !isWhole(interval, 1_000)) return 'INTERVAL must be a number from 1 to 1000';
  // of a month there is no sixth week, and not every year has a 53rd of each
  const weeks = freq === 'MONTHLY' || (freq === 'YEARLY' && months !== undefined) ? 5 : freq === 'YEARLY' ? 52 : 0;
  if (!isListOf(days, (one) => isWeekday(one, weeks)))
    return weeks > 0
      ? `BYDAY must be weekdays such as MO, 1MO or -1FR, with numbers up to ${weeks}`
      : `BYDAY must be weekdays such as MO,FR with FREQ=${freq}`;
  if (!isListOf(monthDays, (one) => isWhole(one, 31, true)))
    return 'BYMONTHDAY must be numbers from 1 to 31, or from -31 to -1';
  if (monthDays !== undefined && freq === 'WEEKLY') return 'BYMONTHDAY does not go with FREQ=WEEKLY';
  if (!isListOf(months, (one) => isWhole(one, 12))) return 'BYMONTH must be numbers from 1 to 12';
  if (!isListOf(positions, (one) => isWhole(one, 366, true)))
    return 'BYSETPOS must be numbers from 1 to 366, or from -366 to -1';
  if (positions !== undefined && [days, monthDays, months].every((part) => part === undefined))
    return 'BYSETPOS needs BYDAY, BYMONTHDAY or BYMONTH';
  if (weekStart !== undefined && !WEEKDAYS.includes(weekStart)) return 'WKST must be a weekday such as MO';
  if (count !== undefined && !isWhole(count, MOST_COUNTED)) return `COUNT must be a number from 1 to ${MOST_COUNTED}`;
  if (until !== undefined && !isUntil(until)) return 'UNTIL must be a date such as 20261231 or 20261231T235959Z';
  return count !== undefined && until !== undefined ? 'COUNT and UNTIL exclude each other' : undefined;
}

const isWeekday = (text: string, weeks: number): boolean => {
  const number = text.slice(0, -2);
  return WEEKDAYS.includes(text.slice(-2)) && (number === '' || isWhole(number, weeks, true));
};

function isUntil(text: string): boolean {
  const [, year, month, day, hour = '00', minute = '00', second = '00'] = UNTIL.exec(text) ?? [];
  const written = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const date = new Date(written);
  return !Number.isNaN(date.getTime()) && date.toISOString() === written;
}

type Days = Pick<RecurrenceRule, 'days'>;

/** Nothing is named later: years have four digits. */
const LAST_LOCAL = '9999-12-31T23:59:59.999';

/**
 * The local times after `local` that a rule names, from `first` to `last` and at most `most`. They have its time of day,
 * with the fraction of the second, and its day is what the rule leaves open. Those before `first` cost nothing.
 * `onLooked` hears how many days were looked at, and may throw.
 */
export function localTimesAfter(
  { days }: Days,
  local: string,
  {
    first = local,
    last = LAST_LOCAL,
    most = Infinity,
    onLooked,
  }: { first?: string; last?: string; most?: number; onLooked?: (days: number) => void },
): string[] {
  const until = last < LAST_LOCAL && !last.startsWith('+') ? last : LAST_LOCAL;
  return daysAfter(days, dayOfLocal(local), { from: dayOfLocal(first), last: dayOfLocal(until), most, onLooked })
    .map((day) => dateOf(day) + local.slice(10))
    .filter((time) => time >= first && time <= until);
}

/** The last instant of a rule's `until`, in the zone of the rule; a day counts to its end. */
export function instantOfUntil(until: string, instantOf: (local: string) => Date): Date {
  const [, year, month, day, hour = '23', minute = '59', second = '59'] = UNTIL.exec(until) ?? [];
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  return until.endsWith('Z') ? new Date(`${local}Z`) : instantOf(local);
}
