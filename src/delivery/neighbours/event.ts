import type { Fact } from '../../platform/outbox/index.ts';
import { bodyOfFact, eventOf, type WebhookTopic } from '../webhooks/index.ts';

/**
 * A fact as a cloud event (CloudEvents 1.0) whose data is the body that webhooks get; `orgid` says whose it is. Its id
 * is the same each time that the fact is told: number and time, as a database that was restored gives numbers again.
 */
export const cloudEventOf = (fact: Fact<WebhookTopic>) => ({
  specversion: '1.0',
  id: `evt_${fact.id}_${fact.at.getTime()}`,
  source: 'rookery',
  type: topicOf(fact),
  subject: fact.entityId,
  time: fact.at.toISOString(),
  orgid: fact.orgId,
  datacontenttype: 'application/json',
  data: JSON.parse(bodyOfFact(fact)) as unknown,
});
export type CloudEvent = ReturnType<typeof cloudEventOf>;

/** The topic of a fact; its event has the same name. */
export const topicOf = ({ topic }: Pick<Fact<WebhookTopic>, 'topic'>): string => `rookery.${eventOf(topic)}`;
