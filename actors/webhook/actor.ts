import { z } from 'zod';
import { implementFor, type Turn } from '../../src/platform/actor-runtime/index.ts';
import type { Webhooks } from '../../src/delivery/webhooks/index.ts';
import { webhookActor } from './contract.ts';

interface Needs {
  webhooks: Pick<Webhooks, 'deliver'>;
}
type Here = Turn<typeof webhookActor, unknown, undefined, Needs>;

/**
 * Sends what waits, beside the turn. The room keeps one round for each webhook: a second call only tells it to look
 * again.
 */
const deliver = async ({ id, ctx, beside }: Here): Promise<void> => beside(() => ctx.webhooks.deliver(id));

export default implementFor<Needs>()(webhookActor, {
  state: z.object({}),
  methods: { deliver: (_, turn) => deliver(turn) },
  reminders: { deliver },
});
