import { z } from 'zod';
import type { Connection, Counts, Metric, PostCounts, Published, Series } from './_contract.ts';
import { encodedUrn } from './_linkedin.ts';

const DAY_MS = 86_400_000;

const Count = z.number().nullish();
const Shares = z.object({
  impressionCount: Count,
  uniqueImpressionsCount: Count,
  clickCount: Count,
  likeCount: Count,
  commentCount: Count,
  shareCount: Count,
});
const OfPosts = z.object({
  elements: z.array(
    z.object({ share: z.string().nullish(), ugcPost: z.string().nullish(), totalShareStatistics: Shares }),
  ),
});
const byDay = <S extends z.ZodRawShape>(counts: S) =>
  z.object({ elements: z.array(z.object({ timeRange: z.object({ start: z.number() }), ...counts })) });
const SharesByDay = byDay({ totalShareStatistics: Shares });
const FollowersByDay = byDay({
  followerGains: z.object({ organicFollowerGain: z.number().default(0), paidFollowerGain: z.number().default(0) }),
});
const ViewsByDay = byDay({
  totalPageStatistics: z.object({
    views: z.object({ allPageViews: z.object({ pageViews: z.number().default(0) }) }),
  }),
});

const NAMES = {
  impressionCount: 'impressions',
  uniqueImpressionsCount: 'reach',
  clickCount: 'clicks',
  likeCount: 'likes',
  commentCount: 'comments',
  shareCount: 'shares',
} as const satisfies Record<string, Metric>;
const countsOf = (shares: z.output<typeof Shares>): Counts =>
  Object.fromEntries(
    Object.entries(NAMES).flatMap(([name, metric]) => {
      const value = shares[name as keyof typeof NAMES];
      return value == null ? [] : [[metric, value]];
    }),
  );

type Asking = Pick<Connection, 'http'> & { author: string };

/** Reads the counts of posts, of each of the two kinds of URN by one call. */
export async function countsOfPosts({
  http,
  author,
  posts,
}: Asking & { posts: readonly Published[] }): Promise<PostCounts[]> {
  const counts: PostCounts[] = [];
  for (const [name, kind] of [
    ['shares', 'share'],
    ['ugcPosts', 'ugcPost'],
  ] as const) {
    const urns = posts.map(({ id }) => id).filter((id) => id.startsWith(`urn:li:${kind}:`));
    if (urns.length === 0) continue;
    const { elements } = await http.get('/v2/organizationalEntityShareStatistics', OfPosts, {
      query: { q: 'organizationalEntity', organizationalEntity: author },
      rawQuery: `${name}=List(${urns.map(encodedUrn).join(',')})`,
    });
    for (const { [kind]: id, totalShareStatistics: shares } of elements)
      if (id) counts.push({ id, counts: countsOf(shares) });
  }
  return counts;
}

/** Reads the counts of a page by day: of its posts, its followers and its views. */
export async function reportOfPage({
  http,
  author,
  from,
  to,
}: Asking & { from: string; to: string }): Promise<Series[]> {
  const range = `start:${Date.parse(from)},end:${Date.parse(to) + DAY_MS}`;
  const rawQuery = `timeIntervals=(timeRange:(${range}),timeGranularityType:DAY)`;
  const ofEntity = { query: { q: 'organizationalEntity', organizationalEntity: author }, rawQuery };
  const ofPage = { query: { q: 'organization', organization: author }, rawQuery };
  const shares = await http.get('/v2/organizationalEntityShareStatistics', SharesByDay, ofEntity);
  const followers = await http.get('/v2/organizationalEntityFollowerStatistics', FollowersByDay, ofEntity);
  const views = await http.get('/v2/organizationPageStatistics', ViewsByDay, ofPage);
  const all = [
    ...shares.elements.map((one) => ({ ...one, counts: countsOf(one.totalShareStatistics) })),
    ...followers.elements.map(({ followerGains: gains, ...one }) => ({
      ...one,
      counts: { followersGained: gains.organicFollowerGain + gains.paidFollowerGain },
    })),
    ...views.elements.map(({ totalPageStatistics: page, ...one }) => ({
      ...one,
      counts: { profileViews: page.views.allPageViews.pageViews },
    })),
  ];
  return seriesOf(all);
}

function seriesOf(days: readonly { timeRange: { start: number }; counts: Counts }[]): Series[] {
  const metrics = [...new Set(days.flatMap(({ counts }) => Object.keys(counts) as Metric[]))];
  return metrics.map((metric) => ({
    metric,
    points: days
      .filter(({ counts }) => counts[metric] !== undefined)
      .map(({ timeRange, counts }) => ({
        date: new Date(timeRange.start).toISOString().slice(0, 10),
        value: counts[metric]!,
      }))
      .toSorted((a, b) => (a.date < b.date ? -1 : 1)),
  }));
}
