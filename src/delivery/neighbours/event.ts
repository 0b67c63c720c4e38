import type { Fact } from '../../platform/outbox/index.ts';
import { bodyOfFact, eventOf, type WebhookTopic } from '../webhooks/index.ts';

/** A cloud event as neighbours get it (CloudEvents 1.0); `orgid` says whose it is. */
export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: 'rookery';
  type: string;
  subject: string;
  time: string;
  orgid: string;
  datacontenttype: 'application/json';
  data: unknown;
}

/**
 * A fact as an event whose data is the body that webhooks get. Its id is the same each time that the fact is told: the
 * number of the fact with its time, as a database that was restored gives numbers again.
 */
export function cloudEventOf(fact: Fact<WebhookTopic>): CloudEvent {
  return {
    specversion: '1.0',
    id: `evt_${fact.id}_${fact.at.getTime()}`,
    source: 'rookery',
    type: topicOf(fact),
    subject: fact.entityId,
    time: fact.at.toISOString(),
    orgid: fact.orgId,
    datacontenttype: 'application/json',
    data: JSON.parse(bodyOfFact(fact)),
  };
}

/** The topic of a fact, for its event has the same name. */
export const topicOf = ({ topic }: Pick<Fact<WebhookTopic>, 'topic'>): string => `rookery.${eventOf(topic)}`;
