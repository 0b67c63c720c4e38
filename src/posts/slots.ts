const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** Milliseconds that the zone is ahead of UTC at an instant. */
function offsetAt(instant: number, format: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  return (
    Date.UTC(parts['year'] ?? 0, (parts['month'] ?? 1) - 1, parts['day'], (parts['hour'] ?? 0) % 24, parts['minute']) - Math.floor(instant / MINUTE) * MINUTE
  );
}

/** The posting times of the coming year, the next one first. `minutes` count from midnight in the zone, ascending. */
export function* slotsOf({ minutes, timezone, now }: { minutes: readonly number[]; timezone: string; now: Date }): Generator<Date> {
  const format = new Intl.DateTimeFormat('en-u-hc-h23', {
    timeZone: timezone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const midnight = Math.floor((now.getTime() + offsetAt(now.getTime(), format)) / DAY) * DAY; // of today there, written as if it were UTC
  for (let day = 0; day < 366; day++)
    for (const minute of minutes) {
      const local = midnight + day * DAY + minute * MINUTE;
      const instant = local - offsetAt(local - offsetAt(local, format), format); // a time that the clocks skip moves forward
      if (instant > now.getTime()) yield new Date(instant);
    }
}
