import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { Metric, Series } from './_contract.ts';

const Day = z.object({ year: z.int(), month: z.int(), day: z.int() });
const Report = z.object({
  multiDailyMetricTimeSeries: z
    .array(
      z.object({
        dailyMetricTimeSeries: z.array(
          z.object({
            dailyMetric: z.string(),
            timeSeries: z.object({
              datedValues: z.array(z.object({ date: Day, value: z.coerce.number().default(0) })).default([]),
            }),
          }),
        ),
      }),
    )
    .default([]),
});

/** Impressions are told for each kind of device and product, and added up. */
const METRICS_BY_NAME: Readonly<Record<string, Metric>> = {
  BUSINESS_IMPRESSIONS_DESKTOP_MAPS: 'impressions',
  BUSINESS_IMPRESSIONS_DESKTOP_SEARCH: 'impressions',
  BUSINESS_IMPRESSIONS_MOBILE_MAPS: 'impressions',
  BUSINESS_IMPRESSIONS_MOBILE_SEARCH: 'impressions',
  WEBSITE_CLICKS: 'clicks',
  CALL_CLICKS: 'calls',
  BUSINESS_DIRECTION_REQUESTS: 'directions',
  BUSINESS_CONVERSATIONS: 'messages',
};

const dateOf = (text: string) => {
  const [year, month, day] = text.split('-').map(Number);
  return { year, month, day };
};
/** The parameters of a day, `prefix.year` and so on. */
const dayQuery = (prefix: string, text: string) =>
  Object.fromEntries(Object.entries(dateOf(text)).map(([name, value]) => [`${prefix}.${name}`, String(value)]));

/** Reads the counts of a location by day. */
export const reportByDay = async (
  http: Http,
  address: string,
  { from, to }: { from: string; to: string },
): Promise<Series[]> =>
  seriesOf(
    await http.get(`${address}:fetchMultiDailyMetricsTimeSeries`, Report, {
      query: {
        dailyMetrics: Object.keys(METRICS_BY_NAME),
        ...dayQuery('dailyRange.startDate', from),
        ...dayQuery('dailyRange.endDate', to),
      },
    }),
  );

function seriesOf({ multiDailyMetricTimeSeries }: z.output<typeof Report>): Series[] {
  const byMetric = new Map<Metric, Map<string, number>>();
  for (const { dailyMetric, timeSeries } of multiDailyMetricTimeSeries.flatMap((one) => one.dailyMetricTimeSeries)) {
    const metric = METRICS_BY_NAME[dailyMetric];
    if (!metric) continue;
    const days = byMetric.get(metric) ?? new Map<string, number>();
    for (const { date: of, value } of timeSeries.datedValues) {
      const day = [of.year, of.month, of.day].map((part) => String(part).padStart(2, '0')).join('-');
      days.set(day, (days.get(day) ?? 0) + value);
    }
    byMetric.set(metric, days);
  }
  return [...byMetric].map(([metric, days]) => ({
    metric,
    points: [...days].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([day, value]) => ({ date: day, value })),
  }));
}
