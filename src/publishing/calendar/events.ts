import type { CalendarPost } from '../posts/index.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const BACK_DAYS = 30;
const AHEAD_DAYS = 90;
const SHOWN_MS = 15 * 60_000;
const SUMMARY_CHARACTERS = 80;

/** The range of a feed; it moves on by the hour, so that a feed can be the same twice. */
export function rangeOfFeed(now: Date): { from: Date; to: Date } {
  const hour = Math.floor(now.getTime() / HOUR) * HOUR;
  return { from: new Date(hour - BACK_DAYS * DAY), to: new Date(hour + AHEAD_DAYS * DAY) };
}

/** The first line of a text, shortened. */
function summaryOf(text: string, channelName: string): string {
  const line = text.trim().split('\n', 1)[0]!.trim();
  if (line === '') return channelName;
  return line.length <= SUMMARY_CHARACTERS ? line : `${line.slice(0, SUMMARY_CHARACTERS - 1).trimEnd()}…`;
}

export interface Feed {
  channelName: string;
  /** The host of the service, which makes ids of events unique in the world. */
  host: string;
  posts: readonly CalendarPost[];
}

/** A calendar as iCalendar text (RFC 5545). Times of writing come from the posts: the same posts are the same text. */
export async function writeCalendar({ channelName, host, posts }: Feed): Promise<string> {
  const { default: ical, ICalCalendarMethod, ICalEventStatus } = await import('ical-generator');
  const calendar = ical({
    name: channelName,
    prodId: { company: 'Rookery', product: 'Calendar feed', language: 'EN' },
    method: ICalCalendarMethod.PUBLISH,
    ttl: HOUR / 1_000,
  });
  for (const { id, version, text, publishDate, updatedAt, state, releaseUrl } of posts)
    calendar.createEvent({
      id: `${id}@${host}`,
      sequence: version,
      stamp: updatedAt,
      lastModified: updatedAt,
      start: publishDate,
      end: new Date(publishDate.getTime() + SHOWN_MS),
      summary: summaryOf(text, channelName),
      description: text,
      status: state === 'PUBLISHED' ? ICalEventStatus.CONFIRMED : ICalEventStatus.TENTATIVE,
      url: releaseUrl,
    });
  return calendar.toString();
}
