import { z } from 'zod';
import type { Actors, Bus, RuntimeLog } from '../../src/platform/actor-runtime/index.ts';
import { WEBHOOKS_TOPIC } from '../../src/delivery/webhooks/index.ts';
import { webhookActor } from './contract.ts';

const Wake = z.object({ keys: z.array(z.string()) });

/**
 * Wakes the webhooks that the outbox has written deliveries for. Call it before the host starts; what is missed here is
 * found by the reconciler.
 */
export const wakeWebhooks = ({ bus, actors, log }: { bus: Bus; actors: Actors; log: Pick<RuntimeLog, 'warn'> }): void =>
  bus.subscribe(WEBHOOKS_TOPIC, async (message) => {
    const wake = Wake.safeParse(message);
    if (!wake.success)
      return log.warn({ topic: WEBHOOKS_TOPIC }, 'a wake-up that cannot be read was dropped; the scan finds the row');
    await Promise.all(
      wake.data.keys.map((key) =>
        actors(webhookActor, key)
          .deliver({})
          .catch((error: unknown) =>
            log.warn({ key, err: error }, 'a webhook could not be woken; the scan finds its deliveries'),
          ),
      ),
    );
  });
