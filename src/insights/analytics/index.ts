export type { AnomalyRow } from './anomaly-store.ts';
export type { BestTime } from './best-times.ts';
export type { AskedDays, ChannelOverview, History, MetricSeries } from './reading.ts';
export type { CountedPostRow } from './reading-store.ts';
export { type Analytics, openAnalytics } from './service.ts';
