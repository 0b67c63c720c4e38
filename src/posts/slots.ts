const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** Milliseconds that the zone is ahead of UTC at an instant. */
function offsetAt(instant: number, format: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  return (
    Date.UTC(parts['year'] ?? 0, (parts['month'] ?? 1) - 1, parts['day'], (parts['hour'] ?? 0) % 24, parts['minute']) - Math.floor(instant / MINUTE) * MINUTE
  );
}

/** The next posting time that no post has taken, within a year; undefined when all are taken. `minutes` count from midnight in the zone, ascending. */
export function nextSlot({
  minutes,
  timezone,
  taken,
  now,
}: {
  minutes: readonly number[];
  timezone: string;
  taken: readonly Date[];
  now: Date;
}): Date | undefined {
  const format = new Intl.DateTimeFormat('en-u-hc-h23', {
    timeZone: timezone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const used = new Set(taken.map((date) => Math.floor(date.getTime() / MINUTE)));
  const midnight = Math.floor((now.getTime() + offsetAt(now.getTime(), format)) / DAY) * DAY; // of today there, written as if it were UTC
  for (let day = 0; day < 366; day++)
    for (const minute of minutes) {
      const local = midnight + day * DAY + minute * MINUTE;
      const instant = local - offsetAt(local - offsetAt(local, format), format); // a time that the clocks skip moves forward
      if (instant > now.getTime() && !used.has(instant / MINUTE)) return new Date(instant);
    }
  return undefined;
}
