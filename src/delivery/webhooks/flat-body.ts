import type { Fact } from '../../platform/outbox/index.ts';
import type { WebhookTopic } from './events.ts';

/** Facts of events without an envelope. */
export type FlatFact = Extract<Fact<WebhookTopic>, { topic: `comment.${string}` | `analytics.${string}` }>;
export const isFlat = (fact: Fact<WebhookTopic>): fact is FlatFact => /^(comment|analytics)\./.test(fact.topic);

/** Minutes, or whole hours. */
const timeframeOf = (minutes: number): string => (minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`);

/** What follows the name of the event, with its keys in the order of the specification. */
export function flatBodyOf(fact: FlatFact): object {
  const { orgId, entityId: commentId } = fact;
  const timestamp = fact.at.toISOString();
  switch (fact.topic) {
    case 'comment.new': {
      const { postId, content, authorName, channelId: integrationId } = fact.payload;
      return { postId, commentId, content, authorName, integrationId };
    }
    case 'comment.synced':
      return { batchSize: fact.payload.count, timeframe: timeframeOf(fact.payload.minutes) };
    case 'comment.reply': {
      const { postId, content, authorName } = fact.payload;
      return { postId, commentId, content, authorName };
    }
    case 'analytics.snapshot_complete':
      return { orgId, timestamp };
    case 'analytics.anomaly_detected':
      return { orgId, anomalies: fact.payload.anomalies.map(anomalyOf), timestamp };
  }
}

type Anomaly = Extract<FlatFact, { topic: 'analytics.anomaly_detected' }>['payload']['anomalies'][number];
/** Written out: the outbox does not keep the order of keys. */
const anomalyOf = (one: Anomaly) => ({
  integrationId: one.integrationId,
  integrationName: one.integrationName,
  metric: one.metric,
  direction: one.direction,
  value: one.value,
  baseline: one.baseline,
  deviation: one.deviation,
  date: one.date,
  topPostId: one.topPostId,
});
