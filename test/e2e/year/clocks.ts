import { DAY, MINUTE } from './cast.ts';

// Wall clocks of zones, by what the platform shows of an instant alone.

const formats = new Map<string, Intl.DateTimeFormat>();
const partsOf = (zone: string): Intl.DateTimeFormat => {
  let format = formats.get(zone);
  if (!format) {
    const two = '2-digit' as const;
    const fields = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const;
    formats.set(zone, (format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...fields })));
  }
  return format;
};

/** What the clocks of a zone show, as milliseconds of UTC. */
export function shownAt(zone: string, at: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of partsOf(zone).formatToParts(at)) parts[type] = Number(value);
  return Date.UTC(parts['year']!, parts['month']! - 1, parts['day'], parts['hour'], parts['minute'], parts['second']);
}
/** The instant at which the clocks of a zone show that, which they do once. */
export function instantOf(zone: string, shown: number): number {
  const near = shown - (shownAt(zone, shown) - shown);
  return shown - (shownAt(zone, near) - near);
}
export const dayOf = (ms: number): number => Math.floor(ms / DAY) * DAY;
export const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
/** Monday before or at a day, both as milliseconds of UTC. */
export const mondayOf = (day: number): number => day - ((((day / DAY + 3) % 7) + 7) % 7) * DAY;
export const timeOf = (text: string): number => (Number(text.slice(0, 2)) * 60 + Number(text.slice(3))) * MINUTE;

/** The first instant after `at` at which the clocks of a zone show `time` of a day, on Mondays alone if so. */
export function nextAt(zone: string, at: number, time: number, isMonday = false): number {
  for (let day = dayOf(shownAt(zone, at)) - DAY; ; day += DAY) {
    if (isMonday && mondayOf(day) !== day) continue;
    const instant = instantOf(zone, day + time);
    if (instant > at) return instant;
  }
}
/** Whether the clocks of a zone show a time from `from` up to `to`, which may be of the next day. */
export function isWithin(zone: string, at: number, { from, to }: { from: string; to: string }): boolean {
  const shown = shownAt(zone, at);
  const time = shown - dayOf(shown);
  const [start, end] = [timeOf(from), timeOf(to)];
  return start < end ? time >= start && time < end : time >= start || time < end;
}
