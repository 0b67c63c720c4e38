import { z } from 'zod';
import { actorContract, method } from '../../src/platform/actor-runtime/index.ts';
import { AuditActor } from '../../src/platform/audit/index.ts';

const none = z.strictObject({});
/** By a person, for the audit log. */
const move = z.strictObject({ by: AuditActor.optional() });

/** One actor per channel: its next due time, one post at a time, its login. The id is `<orgId>:<channelId>`. */
export const channelActor = actorContract('Channel', {
  wake: method({ input: none }), // something may be due, or due earlier than before
  enable: method({ input: move }),
  disable: method({ input: move }),
  remove: method({ input: move }),
});
