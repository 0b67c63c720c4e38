import { z } from 'zod';
import type { Connection, Metric, PostCounts, Published, Series } from './_contract.ts';

const DAY_MS = 86_400_000;
const MOST_DAYS = 89; // the report begins at most 90 days before today

const Count = z.number().nullish();
const Lifetime = z.object({ impression: Count, pin_click: Count, save: Count, reaction: Count, comment: Count });
const Pin = z.object({
  id: z.string(),
  pin_metrics: z.object({ lifetime_metrics: Lifetime.nullish() }).nullish(),
});
const OF_PIN = {
  impression: 'impressions',
  pin_click: 'clicks',
  save: 'saves',
  reaction: 'reactions',
  comment: 'comments',
} as const satisfies Record<keyof z.output<typeof Lifetime>, Metric>;
const BY_DAY: Readonly<Record<string, Metric>> = {
  IMPRESSION: 'impressions',
  ENGAGEMENT: 'engagements',
  PIN_CLICK: 'clicks',
  SAVE: 'saves',
};
const Report = z.object({
  all: z.object({
    daily_metrics: z.array(z.object({ date: z.string(), metrics: z.record(z.string(), Count).nullish() })),
  }),
});
const Account = z.object({ username: z.string(), follower_count: Count });

/** Reads the counts of pins over their whole life. */
export async function countsOfPins({
  http,
  posts,
}: Pick<Connection, 'http'> & { posts: readonly Published[] }): Promise<PostCounts[]> {
  const all: PostCounts[] = [];
  for (const { id } of posts) {
    const pin = await http.find(`/pins/${encodeURIComponent(id)}`, Pin, { query: { pin_metrics: 'true' } });
    if (!pin) continue;
    const told = Object.entries(pin.pin_metrics?.lifetime_metrics ?? {});
    const counts = Object.fromEntries(
      told.flatMap(([name, value]) => (value == null ? [] : [[OF_PIN[name as keyof typeof OF_PIN], value]])),
    );
    all.push({ id, counts });
  }
  return all;
}

/** Reads the report of the account by day, and its followers now. */
export async function reportOfAccount({
  http,
  clock,
  from,
  to,
}: Pick<Connection, 'http' | 'clock'> & { from: string; to: string }): Promise<Series[]> {
  const now = clock.now();
  const earliest = dateOf(new Date(now.getTime() - MOST_DAYS * DAY_MS));
  const days =
    to < earliest
      ? []
      : (
          await http.get('/user_account/analytics', Report, {
            query: {
              start_date: from < earliest ? earliest : from,
              end_date: to,
              metric_types: Object.keys(BY_DAY).join(','),
            },
          })
        ).all.daily_metrics;
  const { follower_count: followers } = await http.get('/user_account', Account);
  const series = Object.entries(BY_DAY).map(([name, metric]) => ({
    metric,
    points: days.flatMap(({ date, metrics }) => {
      const value = metrics?.[name];
      return value == null ? [] : [{ date, value }];
    }),
  }));
  return [
    ...series.filter(({ points }) => points.length > 0),
    ...(followers == null ? [] : [{ metric: 'followers' as const, points: [{ date: dateOf(now), value: followers }] }]),
  ];
}

const dateOf = (time: Date): string => time.toISOString().slice(0, 10);
