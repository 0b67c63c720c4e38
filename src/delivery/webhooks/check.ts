import { type FieldError, fieldError, isId, validationFailed } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import type { WebhooksDeps } from './deps.ts';
import { isEvent } from './events.ts';
import type { WebhookBody } from './input.ts';
import { mayBePlain } from './rules.ts';
import { knownChannels } from './store.ts';

/**
 * Refuses a body with every fault of its integrations and events at once, or with that of its URL; `kept` are
 * integrations that were accepted before.
 */
export async function checkWebhook(
  { sql, outbound }: Pick<WebhooksDeps, 'sql' | 'outbound'>,
  orgId: string,
  { url, integrations, events = [] }: WebhookBody,
  kept: readonly string[] = [],
): Promise<void> {
  const ids = [...new Set(integrations.map(({ id }) => id))].filter(isId);
  const known = new Set([...(ids.length > 0 ? await knownChannels(sql, orgId, ids) : []), ...kept]);
  const faults: FieldError[] = [
    ...integrations.flatMap(({ id }, n) => (known.has(id) ? [] : [unknownIntegration(`integrations.${n}.id`)])),
    ...events.flatMap((event, n) =>
      isEvent(event) ? [] : [fieldError(`events.${n}`, 'no such event', 'invalid_value')],
    ),
  ];
  if (faults.length > 0) throw validationFailed(faults);
  checkUrl(outbound, url);
}

const unknownIntegration = (field: string): FieldError => fieldError(field, 'no such integration', 'unknown_id');

function checkUrl(outbound: Pick<Outbound, 'judge'>, url: string): void {
  try {
    const judged = outbound.judge(url);
    if (judged.protocol === 'http:' && !mayBePlain(judged)) throw new OutboundError('blocked', 'Blocked URL');
  } catch (error) {
    throw error instanceof OutboundError ? error.ofField('url') : error;
  }
}
