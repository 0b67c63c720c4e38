import { z } from 'zod';
import { actorContract, method, nudge, type Reminder, reminderOf } from '../../src/platform/actor-runtime/index.ts';
import { tenantKey } from '../../src/platform/kernel/index.ts';
import type { DueChange } from '../../src/publishing/posts/index.ts';
import { AuditActor } from '../../src/platform/audit/index.ts';

const none = z.strictObject({});
/** By a person, for the audit log. */
const move = z.strictObject({ by: AuditActor.optional() });

/** One actor per channel: its next due time, one post at a time, its login. The id is `<orgId>:<channelId>`. */
export const channelActor = actorContract('Channel', {
  methods: {
    wake: method({ input: none, neighbours: none }), // something may be due, or due earlier than before
    enable: method({ input: move }),
    disable: method({ input: move }),
    remove: method({ input: move }),
  },
  reminders: { due: nudge }, // one per channel, at its next due time; carried by channels.next_due_at and its scan
});

/** The reminder of a channel whose next due time has come nearer. */
export const dueReminder = ({ orgId, channelId, dueAt }: DueChange): Reminder =>
  reminderOf(channelActor, tenantKey(orgId, channelId), 'due', dueAt, { owner: orgId });
