import { instantOfLocal, isTimezone, localTimeOf } from '../../platform/kernel/index.ts';

const AT = '08:00:00.000';
const DAY_MS = 86_400_000;

/** The week that a brief is about, by the clocks of its reader. */
export interface BriefWeek {
  /** The Monday on which it is told, as `2026-11-23`. */
  monday: string;
  /** The first and the last day of the week before. */
  from: string;
  to: string;
  /** The instants at which that week began and ended. */
  begins: Date;
  ends: Date;
}

const plusDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

/** The week before the last Monday at 08:00; of a zone that this platform does not know, by UTC. */
export function briefWeek(now: Date, timezone: string): BriefWeek {
  const zone = isTimezone(timezone) ? timezone : 'UTC';
  const today = localTimeOf(now, zone).slice(0, 10);
  const thisMonday = plusDays(today, -((new Date(`${today}T00:00:00Z`).getUTCDay() + 6) % 7));
  const monday = instantOfLocal(`${thisMonday}T${AT}`, zone) <= now ? thisMonday : plusDays(thisMonday, -7);
  const from = plusDays(monday, -7);
  const begins = instantOfLocal(`${from}T00:00:00.000`, zone);
  return { monday, from, to: plusDays(monday, -1), begins, ends: instantOfLocal(`${monday}T00:00:00.000`, zone) };
}
