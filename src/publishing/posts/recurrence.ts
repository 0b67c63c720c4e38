import { z } from 'zod';
import { idFrom, instantOfLocal, instantsOfLocals, localTimeOf, localTimesAfter } from '../../platform/kernel/index.ts';

// Posts that recur: each date is a post of its own. The one that waits holds the rule, and hands it on to its
// successor, which is made when it waits no longer.

/** How the post goes on: its rule, as of its own date. */
export const Recurrence = z.strictObject({
  /** The days of a `RecurrenceRule`. */
  days: z.string(),
  timezone: z.string(),
  /** The local time that the rule names for this post, which its clocks may skip. */
  local: z.string(),
  /** No date comes after it. */
  until: z.iso.datetime().nullable(),
  /** So many dates, with that of this post; null: without end. */
  left: z.int().min(1).nullable(),
  /** Every so many days, where it was asked for so. */
  inter: z.int().nullable(),
});
export type Recurrence = z.output<typeof Recurrence>;

/** A date of a series. */
export interface SeriesDate {
  at: Date;
  local: string;
}

const DAY = 86_400_000;
/** Years that the database and every client can hold. */
const LAST = new Date(Date.UTC(9_000, 0));

/** The local time of a post's date: another one than the rule named, once a person has changed the date. */
export const localOfPost = ({ local, timezone }: Recurrence, publishDate: Date): string =>
  instantOfLocal(local, timezone).getTime() === publishDate.getTime() ? local : localTimeOf(publishDate, timezone);

/** What local clocks show is less than a day away from what those of UTC show. */
const localBefore = (at: Date): string => new Date(at.getTime() - DAY).toISOString().slice(0, -1);
const localBehind = (at: Date): string => new Date(at.getTime() + DAY).toISOString().slice(0, -1);
const endOf = ({ until }: Recurrence, to: Date): Date =>
  until !== null && new Date(until) < to ? new Date(until) : to;

/** Tells whether a post would end its series at this date; as the statement of an edit judges it, which knows no field. */
export const isBehindEnd = (
  { recurrence, repeatedAt }: { recurrence: Recurrence | null; repeatedAt: Date | null },
  date: Date | undefined,
): boolean =>
  date !== undefined && repeatedAt === null && recurrence?.until != null && date > new Date(recurrence.until);

/** The dates of a series after that of the post `publishDate`, at most `most` and none after `to`. */
export function datesAfter(
  recurrence: Recurrence,
  publishDate: Date,
  { most, to = LAST }: { most: number; to?: Date },
): SeriesDate[] {
  const { timezone, left } = recurrence;
  const end = endOf(recurrence, to);
  const locals = localTimesAfter(recurrence, localOfPost(recurrence, publishDate), {
    most: left === null ? most : Math.min(most, left - 1),
    last: localBehind(end),
  });
  const instants = instantsOfLocals(locals, timezone);
  return locals.map((local, n) => ({ local, at: instants[n]! })).filter(({ at }) => at <= end);
}

/**
 * The dates of a series after that of the post `publishDate` which lie in a range, however far ahead. `onLooked` hears
 * how many days are looked at for them, and may throw.
 */
export function datesBetween(
  recurrence: Recurrence,
  publishDate: Date,
  { from, to }: { from: Date; to: Date },
  onLooked: (days: number) => void = () => {},
): Date[] {
  const { timezone, left } = recurrence;
  const end = endOf(recurrence, to);
  if (end < from) return [];
  const [first, last] = [localBefore(from), localBehind(end)];
  // those of a series that ends after so many have to be counted
  const bounds = left === null ? { first, last, onLooked } : { last, most: left - 1, onLooked };
  const all = localTimesAfter(recurrence, localOfPost(recurrence, publishDate), bounds);
  const near = all.filter((local) => local >= first);
  return instantsOfLocals(near, timezone).filter((at) => at >= from && at <= end);
}

/** What follows a post in its series, and the dates between them that are left out. */
export interface Following extends SeriesDate {
  recurrence: Recurrence;
  skipped: Date[];
}
const AT_ONCE = 500;

/**
 * The date that follows a post: when several have gone by, only the latest of them, where that is less than `pastMs`
 * ago, else the first one to come. Undefined: the series has ended.
 */
export function followingDate(
  recurrence: Recurrence,
  publishDate: Date,
  now: Date,
  pastMs: number,
): Following | undefined {
  const gone = datesUpTo(recurrence, publishDate, now);
  const latest = gone.at(-1);
  const isMeant = latest !== undefined && now.getTime() - latest.at.getTime() < pastMs;
  const chosen = isMeant ? latest : comingDate(recurrence, publishDate, gone);
  if (!chosen) return undefined;
  const skipped = gone.filter((date) => date !== chosen).map(({ at }) => at);
  return { ...chosen, skipped, recurrence: advanced(recurrence, chosen.local, skipped.length + 1) };
}

function datesUpTo(recurrence: Recurrence, publishDate: Date, to: Date): SeriesDate[] {
  const dates: SeriesDate[] = [];
  for (let full = true; full;) {
    const from = dates.at(-1);
    const part = datesAfter(
      from ? advanced(recurrence, from.local, dates.length) : recurrence,
      from?.at ?? publishDate,
      {
        most: AT_ONCE,
        to,
      },
    );
    dates.push(...part);
    full = part.length === AT_ONCE;
  }
  return dates;
}

function comingDate(recurrence: Recurrence, publishDate: Date, gone: readonly SeriesDate[]): SeriesDate | undefined {
  const from = gone.at(-1);
  return from
    ? datesAfter(advanced(recurrence, from.local, gone.length), from.at, { most: 1 })[0]
    : datesAfter(recurrence, publishDate, { most: 1 })[0];
}

/** The recurrence as of a later date of the series, so many dates after its own. */
const advanced = (recurrence: Recurrence, local: string, dates: number): Recurrence => ({
  ...recurrence,
  local,
  left: recurrence.left === null ? null : recurrence.left - dates,
});

/** The id that the next post of a series has after this one. */
export const successorIdOf = (postId: string): string => idFrom(`${postId} next`);
