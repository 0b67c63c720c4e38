export type { AnomalyRow } from './collecting/anomaly-store.ts';
export type { BestTime } from './reading/best-times.ts';
export type { AskedDays, ChannelOverview, History, MetricSeries } from './reading/reading.ts';
export { recentCountsOf } from './reading/recent-counts.ts';
export type { CountedPostRow } from './reading/posts-store.ts';
export { channelDaysRetention, postDaysRetention } from './retention-store.ts';
export { type Analytics, openAnalytics } from './service.ts';
