import { PLANS } from '../../../entitlements/index.ts';
import { isId, notFound } from '../../../platform/kernel/index.ts';
import type { Metric } from '../../../providers/registry/index.ts';
import { type AnomalyRow, listAnomalyRows } from '../collecting/anomaly-store.ts';
import { type BestTime, bestTimesOf } from './best-times.ts';
import {
  askedRange,
  type DayRange,
  lastDays,
  plusDays,
  rangeBefore,
  shownRange,
  shownWeeks,
  utcDayOf,
} from '../days.ts';
import type { AnalyticsDeps } from '../deps.ts';
import * as posts from './posts-store.ts';
import * as store from './reading-store.ts';
import { ALL_METRICS, changeOver, dailyOf, engagementOf, percentageChange } from '../rules.ts';

// Answers from what was collected: no network is called, and the plan says how far back they go (LM8, S233).

type Deps = Pick<AnalyticsDeps, 'sql' | 'clock' | 'billing'>;
/** The range as a client names it. */
export interface AskedDays {
  from?: string | undefined;
  to?: string | undefined;
}
export interface MetricSeries {
  metric: Metric;
  data: readonly { date: string; value: number }[];
  percentageChange: number;
}

const BEST_TIMES_DAYS = 90;
const unknownChannel = () => notFound('Integration not found');

const planDays = async ({ billing }: Pick<Deps, 'billing'>, orgId: string): Promise<number> =>
  PLANS[(await billing.shown(orgId)).tier].analyticsRetentionDays;

interface Shown {
  /** Undefined: the plan shows nothing of it. */
  range: DayRange | undefined;
  /** The same time before; undefined: the plan does not show all of it. */
  before: DayRange | undefined;
}
async function shownOf(deps: Deps, orgId: string, asked: DayRange): Promise<Shown> {
  const now = deps.clock.now();
  const days = await planDays(deps, orgId);
  const range = shownRange(asked, now, days);
  const before = range && rangeBefore(range);
  return { range, before: before && shownRange(before, now, days)?.from === before.from ? before : undefined };
}
/** From the first day that has to be read. */
const readRange = ({ before }: Shown, range: DayRange): DayRange => ({
  from: before?.from ?? range.from,
  to: range.to,
});

/** Values by metric, in the order of the catalogue, each over the range and beside the time before. */
function seriesOf(points: readonly store.SeriesPoint[], range: DayRange): MetricSeries[] {
  const byMetric = Map.groupBy(points, ({ metric }) => metric);
  return ALL_METRICS.flatMap((metric) => {
    const all = byMetric.get(metric) ?? [];
    const data = dailyOf(metric, all).filter(({ date }) => date >= range.from);
    return data.length === 0 ? [] : [{ metric, data, percentageChange: changeOver(metric, all, range) }];
  });
}

/** The last whole days of a channel (S182). */
export async function getChannelNumbers(
  deps: Deps,
  orgId: string,
  channelId: string,
  days: number,
): Promise<MetricSeries[]> {
  if (!isId(channelId)) throw unknownChannel();
  const shown = await shownOf(deps, orgId, lastDays(deps.clock.now(), days));
  const range = shown.range!; // of the last days each plan shows some
  const found = await store.findChannelSeries(deps.sql, { orgId, channelId }, readRange(shown, range));
  if (!found) throw unknownChannel();
  return seriesOf(found.points, range);
}

/** The totals of a post over the last whole days (S183); undefined: its release is not known. */
export async function getPostNumbers(
  deps: Deps,
  orgId: string,
  postId: string,
  days: number,
): Promise<MetricSeries[] | undefined> {
  if (!isId(postId)) throw notFound();
  const shown = await shownOf(deps, orgId, lastDays(deps.clock.now(), days));
  const range = shown.range!; // of the last days each plan shows some
  const found = await posts.findPostSeries(deps.sql, { orgId, postId }, readRange(shown, range));
  if (!found) throw notFound();
  if (!found.hasRelease) return undefined;
  const totals = ALL_METRICS.flatMap((metric) => {
    const all = found.days.flatMap(({ date, counts }) => {
      const value = counts[metric];
      return value === undefined ? [] : [{ date, value }];
    });
    const data = all.filter(({ date }) => date >= range.from);
    const before = all.findLast(({ date }) => date < range.from)?.value;
    return data.length === 0 ? [] : [{ metric, data, percentageChange: percentageChange(data.at(-1)!.value, before) }];
  });
  return totals;
}

export interface History {
  range: DayRange;
  points: readonly store.SeriesPoint[];
  gaps: readonly store.GapRow[];
}
/** The values of a channel by metric and date, or by whole ISO weeks, with the days that could not be read. */
export async function getHistory(
  deps: Deps,
  orgId: string,
  channelId: string,
  { metric, interval, ...asked }: AskedDays & { metric?: Metric | undefined; interval?: 'day' | 'week' | undefined },
): Promise<History> {
  if (!isId(channelId)) throw unknownChannel();
  const now = deps.clock.now();
  const wanted = askedRange(asked, now);
  const range = (interval === 'week' ? shownWeeks : shownRange)(wanted, now, await planDays(deps, orgId));
  const { points, gaps } =
    (await store.findChannelSeries(deps.sql, { orgId, channelId }, { ...(range ?? NOTHING), metric, interval })) ??
    refuse(unknownChannel());
  return { range: range ?? wanted, points, gaps };
}
/** No day at all. */
const NOTHING: DayRange = { from: '0001-01-02', to: '0001-01-01' };
function refuse(error: Error): never {
  throw error;
}

export interface ChannelOverview {
  integrationId: string;
  metrics: Readonly<Record<string, { value: number; previous: number | null }>>;
}
/** Every channel with its metrics over a range and over the time before. */
export async function getOverview(deps: Deps, orgId: string, asked: AskedDays): Promise<ChannelOverview[]> {
  const { range, before } = await shownOf(deps, orgId, askedRange(asked, deps.clock.now()));
  const rows = await store.findOverview(deps.sql, orgId, range ?? NOTHING, before);
  return [...Map.groupBy(rows, ({ integrationId }) => integrationId)].map(([integrationId, some]) => ({
    integrationId,
    metrics: Object.fromEntries(
      some.flatMap(({ metric, value, previous }) =>
        metric === null || value === null ? [] : [[metric, { value, previous }]],
      ),
    ),
  }));
}

/** Published posts of the days that a plan shows, with their latest counts. */
export async function listPostNumbers(
  deps: Deps,
  orgId: string,
  query: posts.PostsQuery,
): Promise<readonly posts.CountedPostRow[]> {
  const since = plusDays(utcDayOf(deps.clock.now()), -(await planDays(deps, orgId)));
  return posts.findCountedPosts(deps.sql, orgId, since, query);
}

/** The anomalies of a range, the latest first. */
export async function listAnomalies(deps: Deps, orgId: string, asked: AskedDays): Promise<readonly AnomalyRow[]> {
  const now = deps.clock.now();
  const range = shownRange(askedRange(asked, now), now, await planDays(deps, orgId));
  return range ? listAnomalyRows(deps.sql, orgId, range) : [];
}

/** The hours of the week in which posts of a channel were met best, over 90 days. */
export async function getBestTimes(deps: Deps, orgId: string, channelId: string): Promise<BestTime[]> {
  if (!isId(channelId)) throw unknownChannel();
  const days = Math.min(BEST_TIMES_DAYS, await planDays(deps, orgId));
  const since = plusDays(utcDayOf(deps.clock.now()), -days);
  const found = await posts.findPostsOfChannel(deps.sql, { orgId, channelId }, since);
  if (!found) throw unknownChannel();
  const engaged = found.posts.map(({ publishedAt, counts }) => ({
    publishedAt: new Date(publishedAt),
    engagement: engagementOf(counts),
  }));
  return bestTimesOf(engaged, found.timezone);
}
