import { contentToText } from '../../../platform/content/index.ts';
import type { PostsDeps } from '../deps.ts';
import { successorIdOf } from '../recurrence.ts';
import { listBriefly } from './list.ts';
import type { BriefPost } from './row.ts';

/** A post as a calendar shows it. */
export interface CalendarPost {
  /** Of a date of a series to come: the id that its post will have. */
  id: string;
  /** 0 for a date of a series that is no post yet. */
  version: number;
  state: string;
  text: string;
  publishDate: Date;
  updatedAt: Date;
  releaseUrl: string | null;
}

/** Events of one calendar. */
const MOST_EVENTS = 2_000;

/**
 * Lists the queued and published posts of a channel by date, at most 2,000. Ids of the dates of a series are those of
 * the posts that follow one another, so that a date keeps its id when its post is made.
 */
export async function listForCalendar(
  deps: Pick<PostsDeps, 'sql'>,
  orgId: string,
  channelId: string,
  range: { from: Date; to: Date },
): Promise<CalendarPost[]> {
  const states = ['QUEUE', 'PUBLISHED'];
  const { posts } = await listBriefly(deps, orgId, { ...range, channelId, states, limit: MOST_EVENTS });
  const latest = new Map<string, string>();
  return posts.map((row) => {
    const isStored = !row.actualDate || row.actualDate.getTime() === row.publishDate.getTime();
    const id = isStored ? row.id : successorIdOf(latest.get(row.id) ?? row.id);
    latest.set(row.id, id);
    return eventOf(row, id, isStored);
  });
}

const eventOf = (row: BriefPost, id: string, isStored: boolean): CalendarPost => ({
  id,
  version: isStored ? row.version : 0,
  state: row.state,
  text: contentToText(row.content),
  publishDate: row.publishDate,
  updatedAt: row.updatedAt,
  releaseUrl: row.releaseUrl,
});
