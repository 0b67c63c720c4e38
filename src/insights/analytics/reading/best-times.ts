import { isTimezone, localTimeOf } from '../../../platform/kernel/index.ts';

/** Under so many posts nothing is said. */
const LEAST_POSTS = 20;
/** So many posts of average engagement are thought into each hour, so that one post alone makes no best time. */
const PULL = 5;
const MONDAY = Date.UTC(1970, 0, 5);
const DAY_MS = 86_400_000;

export interface EngagedPost {
  publishedAt: Date;
  engagement: number;
}
export interface BestTime {
  /** 1 is Monday, 7 is Sunday. */
  weekday: number;
  hour: number;
  /** 100 is the best hour. */
  score: number;
}

/** How posts of each hour of the week were met, by the clocks of a zone, the best first. */
export function bestTimesOf(posts: readonly EngagedPost[], timezone: string): BestTime[] {
  if (posts.length < LEAST_POSTS) return [];
  const zone = isTimezone(timezone) ? timezone : 'UTC';
  const mean = posts.reduce((sum, { engagement }) => sum + engagement, 0) / posts.length;
  const hours = Map.groupBy(posts, ({ publishedAt }) => hourOfWeek(publishedAt, zone));
  const met = [...hours].map(([hour, some]) => ({
    weekday: Math.floor(hour / 24) + 1,
    hour: hour % 24,
    value: (some.reduce((sum, { engagement }) => sum + engagement, 0) + PULL * mean) / (some.length + PULL),
  }));
  const best = Math.max(...met.map(({ value }) => value));
  return met
    .toSorted((a, b) => b.value - a.value || a.weekday - b.weekday || a.hour - b.hour)
    .map(({ weekday, hour, value }) => ({ weekday, hour, score: best > 0 ? Math.round((100 * value) / best) : 0 }));
}

function hourOfWeek(instant: Date, zone: string): number {
  const local = Date.parse(`${localTimeOf(instant, zone)}Z`);
  const weekday = ((Math.floor((local - MONDAY) / DAY_MS) % 7) + 7) % 7;
  return weekday * 24 + new Date(local).getUTCHours();
}
