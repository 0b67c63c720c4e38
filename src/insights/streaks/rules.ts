import { localTimeOf } from '../../platform/kernel/index.ts';

/** From this local time on members are told that a streak ends. */
const FROM = '20:00';

/** The date in a zone, as `2026-11-23`. */
export const dayIn = (zone: string, at: Date): string => localTimeOf(at, zone).slice(0, 10);

const dayBefore = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);

/** The day whose streak ends with today in a zone, where it is evening; undefined: it is not. */
export function dayAtRisk(zone: string, now: Date): string | undefined {
  const local = localTimeOf(now, zone);
  return local.slice(11, 16) >= FROM ? dayBefore(local.slice(0, 10)) : undefined;
}

/** A run that ended before yesterday is over; one that ended yesterday goes on while today is not over. */
export const isStreakRunning = (lastDay: string, zone: string, now: Date): boolean =>
  lastDay >= dayBefore(dayIn(zone, now));
