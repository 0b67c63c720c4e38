import { z } from 'zod';
import { actorContract, method, nudge } from '../../src/platform/actor-runtime/index.ts';

const none = z.strictObject({});

/**
 * One actor per webhook: its deliveries, one at a time, in the order of its events. The id is `<orgId>:<webhookId>`.
 */
export const webhookActor = actorContract('Webhook', {
  methods: {
    deliver: method({ input: none, neighbours: none }), // deliveries may be waiting
  },
  reminders: { deliver: nudge }, // carried by webhooks.due_at and its scan
});
