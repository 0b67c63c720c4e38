import { z } from 'zod';
import { actorContract, method, reminder } from '../../src/platform/actor-runtime/index.ts';
import { BrakeTarget, Create, UndonePlan } from '../../src/publishing/posts/index.ts';
import { AuditActor } from '../../src/platform/audit/index.ts';
import { NewWebhook, WebhookChange } from '../../src/delivery/webhooks/index.ts';

/** One actor per organization: what is counted against its limits is admitted here. The id is the org's. */
export const organizationActor = actorContract('Organization', {
  methods: {
    admit: method({ input: Create, output: z.strictObject({ postIds: z.array(z.string()) }), batched: { max: 500 } }),
    /** Makes the next post of a series after one that waits no longer. */
    repeat: method({ input: z.strictObject({ postId: z.string() }) }),
    /** Lets a post of a series go on that waits for room in the plan, where there is some. */
    release: method({ input: z.strictObject({ postId: z.string() }) }),
    /** Finds the next end of a trial or step of a grace period, and sets the reminder for it. */
    scheduleTransition: method({ input: z.strictObject({}) }),
    removeGroup: method({ input: z.strictObject({ group: z.string() }), output: z.strictObject({ deleted: z.int() }) }),
    /** Deletes what a plan has created a short time ago and nobody has touched since. */
    undoPlan: method({ input: z.strictObject({ planId: z.string() }), output: UndonePlan }),
    pausePosts: method({
      input: z.strictObject({ target: BrakeTarget, by: AuditActor.optional() }),
      output: z.strictObject({ paused: z.int() }),
    }),
    resumePosts: method({
      input: z.strictObject({ target: BrakeTarget, spacingSeconds: z.int(), by: AuditActor.optional() }),
      output: z.strictObject({ plan: z.array(z.strictObject({ postId: z.string(), at: z.coerce.date() })) }),
    }),
    addWebhook: method({ input: NewWebhook, output: z.strictObject({ webhookId: z.string() }) }),
    changeWebhook: method({ input: WebhookChange, output: z.strictObject({ webhookId: z.string() }) }),
  },
  reminders: { transition: reminder }, // carried by the dates of subscriptions and the sweep `payments`
});
