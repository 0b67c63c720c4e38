import { type Listener, listener } from '../../platform/outbox/index.ts';
import { EVENT_TYPES, isHeard } from '../webhooks/index.ts';
import { cloudEventOf, topicOf } from './event.ts';
import { openPublish, type PublishOptions } from './publish.ts';

/** Tells other Dapr applications of the events that webhooks tell of; off where no component for it is named. */
export function neighboursListener({
  pubsub,
  ...options
}: Omit<PublishOptions, 'pubsub'> & { pubsub: string | undefined }): Listener {
  const publish = pubsub === undefined ? undefined : openPublish({ pubsub, ...options });
  return listener({
    name: 'neighbours',
    topics: EVENT_TYPES.flatMap(({ topics }) => topics),
    isOff: publish === undefined,
    async hear() {}, // its place in the outbox is all that is written
    async tell(facts, ending) {
      if (!publish) return;
      const byTopic = Map.groupBy(facts.filter(isHeard), topicOf);
      await Promise.all([...byTopic].map(([topic, some]) => publish(topic, some.map(cloudEventOf), ending)));
    },
  });
}
