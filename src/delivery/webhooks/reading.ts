import { invalidField, isId } from '../../platform/kernel/index.ts';
import { unknownWebhook, type WebhooksDeps } from './deps.ts';
import {
  type DeliveryRow,
  listAttempts,
  listEvents,
  seqsOf,
  type WebhookAttemptRow,
  type WebhookEventRow,
} from './deliveries-store.ts';
import { findWebhook, type WebhookRow } from './store.ts';

const EVENTS_PER_PAGE = 100;

export async function getWebhook({ sql }: Pick<WebhooksDeps, 'sql'>, orgId: string, id: string): Promise<WebhookRow> {
  const row = isId(id) ? await findWebhook(sql, orgId, id) : undefined;
  if (!row) throw unknownWebhook();
  return row;
}

/** Lists attempts of a webhook, newest first; with a `state` the last one of each delivery that is in it. */
export async function pageOfAttempts(
  deps: Pick<WebhooksDeps, 'sql'>,
  orgId: string,
  id: string,
  { limit, cursor, state }: { limit: number; cursor?: string | undefined; state?: DeliveryRow['state'] | undefined },
): Promise<{ items: readonly WebhookAttemptRow[]; nextCursor: string | null }> {
  await getWebhook(deps, orgId, id);
  if (cursor !== undefined && !isId(cursor))
    throw invalidField('cursor', 'take it from the page before', 'invalid_format');
  const rows = await listAttempts(deps.sql, orgId, id, { limit: limit + 1, before: cursor, state });
  return { items: rows.slice(0, limit), nextCursor: rows.length > limit ? rows[limit - 1]!.attemptId : null };
}

/**
 * Lists at most 100 events after number `after`; `last`: the number of the last one there is, `oldest`: of the first
 * one that is still kept.
 */
export async function pageOfEvents(
  { sql }: Pick<WebhooksDeps, 'sql'>,
  orgId: string,
  id: string,
  after: number,
): Promise<{ items: readonly WebhookEventRow[]; last: number; oldest: number | null }> {
  const seqs = isId(id) ? await seqsOf(sql, orgId, id) : undefined;
  if (!seqs) throw unknownWebhook();
  return { items: await listEvents(sql, orgId, id, { after, limit: EVENTS_PER_PAGE }), ...seqs };
}
