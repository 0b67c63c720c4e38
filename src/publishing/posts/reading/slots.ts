import { instantOfLocal, localTimeOf } from '../../../platform/kernel/index.ts';

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
  const midnight = Date.parse(`${localTimeOf(now, timezone).slice(0, 10)}T00:00:00Z`); // of today there, without a zone
  for (let day = 0; day < 366; day++)
    for (const minute of minutes) {
      const local = new Date(midnight + day * DAY + minute * MINUTE).toISOString().slice(0, -1);
      const instant = instantOfLocal(local, timezone);
      if (instant > now) yield instant;
    }
}
