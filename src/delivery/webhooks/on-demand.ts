import { AppError, isId, newId, notFound } from '../../platform/kernel/index.ts';
import { unknownWebhook, type WebhooksDeps } from './deps.ts';
import { pingBody, type PingResult, pingResult, ROTATION_HOURS, TEST_PING } from './rules.ts';
import { findDelivery } from './deliveries-store.ts';
import { findTarget, recordPing, recordRedelivery } from './on-demand-store.ts';

// Attempts that a person asks for: they are made at once, beside the deliveries that wait their turn.

/** Sends a ping to a webhook, and records it. */
export async function pingWebhook(
  { sql, clock, send }: Pick<WebhooksDeps, 'sql' | 'clock' | 'send'>,
  orgId: string,
  id: string,
): Promise<PingResult> {
  const target = isId(id) ? await findTarget(sql, orgId, id, ROTATION_HOURS) : undefined;
  if (!target) throw unknownWebhook();
  const deliveryId = newId();
  const body = pingBody(clock.now(), TEST_PING);
  const outcome = await send({ ...target, id: deliveryId, event: 'ping', body });
  await recordPing(sql, orgId, id, { deliveryId, attemptId: newId(), body, outcome });
  return pingResult(outcome);
}

/** Sends one signed ping to a URL that is kept nowhere (S169). */
export async function pingUrl(
  { clock, send }: Pick<WebhooksDeps, 'clock' | 'send'>,
  url: string,
  message: string = TEST_PING,
): Promise<PingResult> {
  return pingResult(await send({ url, id: newId(), event: 'ping', body: pingBody(clock.now(), message) }));
}

/** Makes one more attempt of a delivery that is over, with the same id and bytes. */
export async function redeliver(
  { sql, send }: Pick<WebhooksDeps, 'sql' | 'send'>,
  orgId: string,
  id: string,
  deliveryId: string,
): Promise<PingResult> {
  const target = isId(id) && isId(deliveryId) ? await findTarget(sql, orgId, id, ROTATION_HOURS) : undefined;
  const delivery = target && (await findDelivery(sql, orgId, id, deliveryId));
  if (!delivery) throw notFound('Delivery not found');
  if (delivery.state === 'pending') throw new AppError('conflict', 'This delivery is still under way');
  const outcome = await send({
    ...target,
    id: deliveryId,
    event: delivery.event,
    body: delivery.body,
    seq: target.optIn && delivery.seq !== null ? delivery.seq : undefined,
  });
  await recordRedelivery(sql, orgId, id, { deliveryId, attemptId: newId(), outcome });
  return pingResult(outcome);
}
