import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { invalidField } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { datesAfter, datesBetween } from '../recurrence.ts';
import { waitsInSeries } from '../state.ts';
import { getPost } from './find.ts';
import type { StoredBrief } from './row.ts';

/** Series that one list tells the dates of, and that one look for a posting time asks. */
const MOST_SERIES = 2_000;
const MOST_ASKED = 500;
/** Days that are looked at for one list: dates of series that end after a number of them are counted from the first. */
const MOST_LOOKED = 100_000;
const MOST_DATES = 10;
const MINUTE = 60_000;

/** A place in the order of dates: a date to the microsecond, and the number of the post. */
export interface Place {
  at: string;
  seq: string | number;
}
export interface PlacedRow extends StoredBrief {
  at: string;
  seq: string;
}
/** Whether one place comes before another. */
export const isBefore = (a: Place, b: Place): boolean => (a.at === b.at ? Number(a.seq) < Number(b.seq) : a.at < b.at);

const inOrder = <P extends Place>(places: readonly P[]): P[] => places.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));

/** The post that waits in a series shows its own date as the one that the others come from. */
const isWaiting = ({
  recurrence,
  repeatedAt,
  state,
}: Pick<StoredBrief, 'recurrence' | 'repeatedAt' | 'state'>): boolean =>
  recurrence !== null && repeatedAt === null && (state === 'QUEUE' || state === 'DRAFT');
export const asOccurrence = <R extends StoredBrief>(row: R): R =>
  isWaiting(row) ? { ...row, actualDate: row.publishDate } : row;

/** The post that waits, at another date of its series. */
const occurrenceOf = (row: StoredBrief & { seq: string }, date: Date): PlacedRow => ({
  ...row,
  publishDate: date,
  actualDate: row.publishDate,
  at: `${date.toISOString().slice(0, -1)}000`,
});

/**
 * The dates to come of the series of an org in a range, each as the post that waits, in their order; so many at most,
 * the earliest ones. `filter` is over `posts p` and `channels c`.
 */
export async function listOccurrences(
  sql: Sql,
  orgId: string,
  {
    columns,
    from,
    to,
    after,
    most,
    filter,
  }: {
    /** Those of a `StoredBrief`, and what else of the post is wanted. */
    columns: Fragment;
    from: Date;
    to: Date;
    after?: Place | undefined;
    most: number;
    filter: Fragment;
  },
): Promise<PlacedRow[]> {
  const series = await sql<(StoredBrief & { seq: string })[]>`
    select ${columns}, p.seq
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and ${waitsInSeries(sql)}
      and p.publish_date < ${to}
      ${filter}
    order by p.publish_date
    limit ${MOST_SERIES}`;
  let found: PlacedRow[] = [];
  let end = to;
  let looked = 0;
  const onLooked = (days: number) => {
    looked += days;
    if (looked > MOST_LOOKED)
      throw invalidField('startDate', 'is too far ahead for so many posts that recur', 'too_many');
  };
  for (const row of series) {
    const dates = datesBetween(row.recurrence!, row.publishDate, { from, to: end }, onLooked);
    const placed = dates.map((date) => occurrenceOf(row, date));
    found.push(...placed.filter((one) => after === undefined || isBefore(after, one)));
    if (found.length < 2 * most) continue; // to sort costs more than a few too many
    // what comes after the last one that is told is not reckoned
    found = inOrder(found).slice(0, most);
    end = found.at(-1)!.publishDate;
  }
  return inOrder(found).slice(0, most);
}

/** Those of the times at which no series of the channel, or of the org, has a date to come in the same minute. */
export async function withoutOccurrences(
  sql: Sql,
  orgId: string,
  times: readonly Date[],
  channelId?: string,
): Promise<Date[]> {
  const [first, last] = [times[0], times.at(-1)];
  if (!first || !last) return [];
  const series = await sql<Pick<StoredBrief, 'recurrence' | 'publishDate'>[]>`
    select p.recurrence, p.publish_date as "publishDate"
    from posts p
    where p.org_id = ${orgId}
      and ${waitsInSeries(sql)}
      and p.publish_date < ${last}
      ${channelId === undefined ? sql`` : sql`and p.channel_id = ${channelId}`}
    order by p.publish_date
    limit ${MOST_ASKED}`;
  const end = new Date(last.getTime() + MINUTE);
  const taken = new Set(
    series.flatMap(({ recurrence, publishDate }) =>
      datesBetween(recurrence!, publishDate, { from: first, to: end }).map((at) => Math.floor(at.getTime() / MINUTE)),
    ),
  );
  return times.filter((at) => !taken.has(at.getTime() / MINUTE));
}

/** The next ten dates on which a post that waits is published, its own first (S120). Throws `not_found`. */
export async function listDates(
  deps: Pick<PostsDeps, 'sql' | 'channels'>,
  orgId: string,
  postId: string,
): Promise<Date[]> {
  const rows = await getPost(deps, orgId, postId);
  const stored = rows.find(({ id }) => id === postId)!;
  if (!isWaiting(stored)) return [];
  const { publishDate } = stored;
  return [publishDate, ...datesAfter(stored.recurrence!, publishDate, { most: MOST_DATES - 1 }).map(({ at }) => at)];
}
