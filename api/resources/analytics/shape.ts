import { z } from 'zod';
import type {
  AnomalyRow,
  BestTime,
  ChannelOverview,
  CountedPostRow,
  History,
  MetricSeries,
} from '../../../src/insights/analytics/index.ts';
import { METRICS } from '../../../src/providers/registry/index.ts';
import { instant } from '../../http/fields.ts';

const day = z.iso.date();
/** Whole days, as a text; some clients write the number in quotes (T12). */
export const daysText = z
  .string()
  .transform((text) => text.replace(/^"(\d+)"$/, '$1'))
  .pipe(z.coerce.number<string>().int().min(1).max(548));

/** Numbers of a channel or a post by metric, in the dialect of both APIs: totals are strings (S182, S183). */
export const Numbers = z.array(
  z.strictObject({
    label: z.string(),
    data: z.array(z.strictObject({ total: z.string(), date: day })),
    percentageChange: z.number(),
  }),
);
export const presentNumbers = (series: readonly MetricSeries[]): z.input<typeof Numbers> =>
  series.map(({ metric, data, percentageChange }) => ({
    label: METRICS[metric].label,
    data: data.map(({ date, value }) => ({ total: String(value), date })),
    percentageChange,
  }));

/** `missing`: the release of the post is not known. */
export const PostNumbers = z.union([Numbers, z.strictObject({ missing: z.literal(true) })]);
export const presentPostNumbers = (series: readonly MetricSeries[] | undefined): z.input<typeof PostNumbers> =>
  series ? presentNumbers(series) : { missing: true };

const Gap = z.strictObject({ date: day, reason: z.string() });
export const HistoryAnswer = z.strictObject({
  items: z.array(
    z.strictObject({
      date: day,
      metric: z.string(),
      value: z.number(),
      /** What posts gained, where the network does not tell it. */
      derived: z.boolean(),
      /** What the date stands for: old days were rolled up to weeks, which have the date of their Monday. */
      interval: z.enum(['day', 'week']),
    }),
  ),
  gaps: z.array(Gap),
  from: day,
  to: day,
});
export const presentHistory = ({ points, gaps, range }: History): z.input<typeof HistoryAnswer> => ({
  items: points.map(({ date, metric, value, derived, interval }) => ({ date, metric, value, derived, interval })),
  gaps: gaps.map(({ date, reason }) => ({ date, reason })),
  ...range,
});

export const Overview = z.strictObject({
  channels: z.array(
    z.strictObject({
      integrationId: z.string(),
      metrics: z.record(z.string(), z.strictObject({ value: z.number(), previous: z.number().nullable() })),
    }),
  ),
});
export const presentOverview = (channels: readonly ChannelOverview[]): z.input<typeof Overview> => ({
  channels: channels.map(({ integrationId, metrics }) => ({ integrationId, metrics })),
});

export const CountedPost = z.strictObject({
  id: z.string(),
  integrationId: z.string(),
  publishedAt: instant,
  releaseURL: z.string(),
  date: day.nullable(),
  metrics: z.record(z.string(), z.number()),
});
export const presentCountedPost = (row: CountedPostRow): z.input<typeof CountedPost> => ({
  id: row.id,
  integrationId: row.integrationId,
  publishedAt: row.publishedAt.toISOString(),
  releaseURL: row.releaseURL,
  date: row.date,
  metrics: row.counts,
});

/** An anomaly as webhooks are told of it. */
export const Anomaly = z.strictObject({
  integrationId: z.string(),
  integrationName: z.string(),
  metric: z.string(),
  direction: z.enum(['spike', 'drop']),
  value: z.number(),
  baseline: z.number(),
  deviation: z.number(),
  date: day,
  topPostId: z.string().nullable(),
});
export const presentAnomaly = (row: AnomalyRow): z.input<typeof Anomaly> => ({
  integrationId: row.integrationId,
  integrationName: row.integrationName,
  metric: row.metric,
  direction: row.direction,
  value: row.value,
  baseline: row.baseline,
  deviation: row.deviation,
  date: row.date,
  topPostId: row.topPostId,
});

export const BestTimes = z.array(z.strictObject({ weekday: z.int(), hour: z.int(), score: z.int() }));
export const presentBestTimes = (times: readonly BestTime[]): z.input<typeof BestTimes> =>
  times.map(({ weekday, hour, score }) => ({ weekday, hour, score }));
