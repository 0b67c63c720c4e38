import { z } from 'zod';
import type { Metric, Operations } from './_contract.ts';
import { allPages } from './_lists.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { listing } from './_tools.ts';

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
const Account = z.object({ id: z.string(), username: z.string(), profile_image: z.url().nullish().catch(undefined) });
const Followers = z.object({ username: z.string(), follower_count: Count });
const Boards = z.object({
  items: z.array(z.object({ id: z.string(), name: z.string() })),
  bookmark: z.string().nullish(),
});

const PAGE = '250';
const PAGES = 10;
const ANSWER_BYTES = 4 * 1024 * 1024;
const dateOf = (time: Date): string => time.toISOString().slice(0, 10);

/** The account, its boards, and what is told of pins. */
export const pinterestReading = {
  async profile({ http }) {
    const { id, username, profile_image: picture } = await http.get('/user_account', Account);
    return { id, name: username, handle: `@${username}`, picture };
  },
  /** Counts of pins over their whole life. */
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const pin = await http.find(`/pins/${encodeURIComponent(id)}`, Pin, { query: { pin_metrics: 'true' } });
      const counts = Object.entries(pin?.pin_metrics?.lifetime_metrics ?? {});
      return pin && Object.fromEntries(counts.map(([name, value]) => [OF_PIN[name as keyof typeof OF_PIN], value]));
    }),
  /** The report of the account by day, and its followers now. */
  async channelMetrics({ http, clock, from, to }) {
    const earliest = dateOf(new Date(clock.now().getTime() - MOST_DAYS * DAY_MS));
    const query = {
      start_date: from < earliest ? earliest : from,
      end_date: to,
      metric_types: Object.keys(BY_DAY).join(','),
    };
    const report = to < earliest ? undefined : await http.get('/user_account/analytics', Report, { query });
    const { follower_count: followers } = await http.get('/user_account', Followers);
    const series = Object.entries(BY_DAY).map(([name, metric]) => ({
      metric,
      points: (report?.all.daily_metrics ?? []).flatMap(({ date, metrics }) => {
        const value = metrics?.[name];
        return value == null ? [] : [{ date, value }];
      }),
    }));
    return [...series.filter(({ points }) => points.length > 0), ...seriesOfNow(clock, { followers })];
  },
  tools: {
    boards: listing('Lists the boards of the account', ({ http }) =>
      allPages(PAGES, async (bookmark) => {
        const query = { page_size: PAGE, bookmark };
        const { items, bookmark: next } = await http.get('/boards', Boards, { query, answerBytes: ANSWER_BYTES });
        return { items, next };
      }),
    ),
  },
} satisfies Operations;
