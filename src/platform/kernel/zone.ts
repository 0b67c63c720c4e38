const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** Tells whether a text is an IANA time zone that this platform knows; offsets such as `+01:00` are none. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** A time zone: wall-clock times are milliseconds, written as if they were UTC. */
export interface Zone {
  /** The wall-clock time of a zone at an instant. */
  localOf(instant: number): number;
  /**
   * The instant at which they show this: of two the first; a time that the clocks skip moves forward by what they skip.
   */
  instantOf(local: number): number;
}

/** A zone by its IANA name. */
export function zoneOf(timezone: string): Zone {
  const format = new Intl.DateTimeFormat('en-u-hc-h23', {
    timeZone: timezone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  /** Milliseconds that the zone is ahead of UTC at an instant. */
  function offsetAt(instant: number): number {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const shown = Date.UTC(
      parts['year'] ?? 0,
      (parts['month'] ?? 1) - 1,
      parts['day'],
      (parts['hour'] ?? 0) % 24,
      parts['minute'],
    );
    return shown - Math.floor(instant / MINUTE) * MINUTE;
  }
  return {
    localOf: (instant) => instant + offsetAt(instant),
    instantOf(local) {
      const [before, after] = [offsetAt(local - DAY), offsetAt(local + DAY)];
      const [first, second] = [local - before, local - after];
      return before !== after && offsetAt(first) !== before && offsetAt(second) === after ? second : first;
    },
  };
}
