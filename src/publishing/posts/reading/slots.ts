import { zoneOf } from '../../../platform/kernel/index.ts';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** The posting times of the coming year, the next one first. `minutes` count from midnight in the zone, ascending. */
export function* slotsOf({
  minutes,
  timezone,
  now,
}: {
  minutes: readonly number[];
  timezone: string;
  now: Date;
}): Generator<Date> {
  const zone = zoneOf(timezone);
  const midnight = Math.floor(zone.localOf(now.getTime()) / DAY) * DAY; // of today there
  for (let day = 0; day < 366; day++)
    for (const minute of minutes) {
      const instant = zone.instantOf(midnight + day * DAY + minute * MINUTE);
      if (instant > now.getTime()) yield new Date(instant);
    }
}
