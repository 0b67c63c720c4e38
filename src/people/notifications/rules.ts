import { instantOfLocal, isTimezone, localTimeOf } from '../../platform/kernel/index.ts';
import type { Preferences, QuietHours, Toggles } from '../identity/index.ts';
import { CATEGORIES } from './categories.ts';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
/** By the wall clock of the person, daily and on Mondays (S238). */
const DIGEST_AT = 8 * 60 * MINUTE;
/** What follows the first mail of a category is collected for so long. */
const BURST_MS = 10 * MINUTE;

/** The clocks of a person: what they show is milliseconds, written as if it were UTC. */
interface PersonZone {
  localOf(instant: number): number;
  /** Of two the first, unless the last is asked for. */
  instantOf(local: number, which?: 'first' | 'last'): number;
}

/** The zone of a person; of one that this platform does not know, UTC. */
export function zoneOfPerson(timezone: string): PersonZone {
  const name = isTimezone(timezone) ? timezone : 'UTC';
  return {
    localOf: (instant) => Date.parse(`${localTimeOf(new Date(instant), name)}Z`),
    instantOf: (local, which) => instantOfLocal(new Date(local).toISOString().slice(0, -1), name, which).getTime(),
  };
}

const dayOf = (local: number): number => Math.floor(local / DAY) * DAY;
/** Of the days `days`, the first whose wall clock shows `time` after `now`. */
function firstAfter(now: number, zone: PersonZone, time: number, days: readonly number[]): number {
  const today = dayOf(zone.localOf(now));
  for (const day of days) {
    const instant = zone.instantOf(today + day * DAY + time);
    if (instant > now) return instant;
  }
  throw new Error('no day of these comes after now');
}

/** When the digest window that is open at an instant ends: after it, so that windows abut. */
export function digestEnd(frequency: 'Daily' | 'Weekly', now: number, zone: PersonZone): number {
  if (frequency === 'Daily') return firstAfter(now, zone, DIGEST_AT, [0, 1, 2]);
  const weekday = (dayOf(zone.localOf(now)) / DAY + 3) % 7; // 1 January 1970 was a Thursday; 0 is Monday
  return firstAfter(now, zone, DIGEST_AT, [-weekday, 7 - weekday, 14 - weekday]);
}

const timeOf = (text: string): number => (Number(text.slice(0, 2)) * 60 + Number(text.slice(3))) * MINUTE;

/** The instant itself, or the end of the quiet hours that it lies in. */
export function afterQuiet(instant: number, quiet: QuietHours | null, zone: PersonZone): number {
  if (!quiet) return instant;
  const [from, to] = [timeOf(quiet.from), timeOf(quiet.to)];
  const local = zone.localOf(instant);
  const time = local - dayOf(local);
  const isQuiet = from < to ? time >= from && time < to : time >= from || time < to;
  if (!isQuiet) return instant;
  const again = zone.instantOf(dayOf(local) + to, 'last'); // an hour that the clocks show twice is quiet twice
  return Math.min(firstAfter(instant, zone, to, [0, 1, 2]), again > instant ? again : Infinity);
}

/**
 * By which ways somebody wants to hear of a category: masters first (NO22), then the category, unless it overrides; by
 * no mail where they have unsubscribed from it.
 */
export function waysOf(
  { master, categories, unsubscribed }: Preferences,
  category: string,
  overrides = false,
): Toggles {
  if (overrides) return { ...master, email: master.email && !unsubscribed.includes(category) };
  const { email, push, inApp } = categories[category] ?? master; // NO23
  return { email: master.email && email, push: master.push && push, inApp: master.inApp && inApp };
}

/** When a window that is open would end if it was opened now; undefined: never, as its lines are not wanted. */
export function windowEnd(
  kind: string,
  { digest, quietHours }: Preferences,
  { now, zone }: { now: number; zone: PersonZone },
): number | undefined {
  if (kind !== 'digest') return afterQuiet(kind.startsWith('burst') ? now + BURST_MS : now, quietHours, zone);
  if (digest === 'Never') return undefined;
  return afterQuiet(digest === 'Instant' ? now : digestEnd(digest, now, zone), quietHours, zone);
}

/** The kind of the window of mails that wait for the end of quiet hours. */
export const QUIET = 'quiet';

/** Where a mail is collected until the instant `dueAt`. */
export interface MailWindow {
  kind: string;
  dueAt: number;
  /** It leaves at once, unless one has just gone. */
  isBurst: boolean;
  /** Of a burst whose end lies in quiet hours: what follows its first mail waits with all else for theirs. */
  endsQuiet?: boolean;
}

/** When a mail of a category leaves; undefined: never. */
export function mailWindow(
  { digest, quietHours }: Preferences,
  { orgId, category, now, zone }: { orgId: string; category: string; now: number; zone: PersonZone },
): MailWindow | undefined {
  if (CATEGORIES[category]?.isInDigest === true && digest !== 'Instant') {
    if (digest === 'Never') return undefined;
    return { kind: 'digest', dueAt: afterQuiet(digestEnd(digest, now, zone), quietHours, zone), isBurst: false };
  }
  const quietEnd = afterQuiet(now, quietHours, zone);
  if (quietEnd > now) return { kind: QUIET, dueAt: quietEnd, isBurst: false };
  const dueAt = afterQuiet(now + BURST_MS, quietHours, zone);
  return { kind: `burst ${orgId} ${category}`, dueAt, isBurst: true, endsQuiet: dueAt > now + BURST_MS };
}
