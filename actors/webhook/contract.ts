import { z } from 'zod';
import { actorContract, method } from '../../src/platform/actor-runtime/index.ts';

/** One actor per webhook: its deliveries, one at a time, in the order of its events. The id is `<orgId>:<webhookId>`. */
export const webhookActor = actorContract('Webhook', {
  deliver: method({ input: z.strictObject({}) }), // deliveries may be waiting
});
