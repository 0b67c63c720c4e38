import { z } from 'zod';
import { actorContract, method } from '../../src/actor-runtime/index.ts';

const none = z.strictObject({});

/** One actor per channel: its next due time, one post at a time, its login. The id is `<orgId>:<channelId>`. */
export const channelActor = actorContract('Channel', {
  wake: method({ input: none }), // something may be due, or due earlier than before
  enable: method({ input: none }),
  disable: method({ input: none }),
  remove: method({ input: none }),
});
