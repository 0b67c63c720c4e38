import type { Fragment, Sql } from '../../platform/db/index.ts';
import { announceFailing } from './failing.ts';
import { previousSecrets } from './rotation.ts';
import type { DeliveryOutcome } from './rules.ts';

/** What a delivery needs; the secrets are sealed. */
export interface WebhookTarget {
  url: string;
  optIn: boolean;
  secret: string | null;
  /** Those that were replaced and still sign, the newest first. */
  previousSecrets: readonly string[];
}

export async function findTarget(
  sql: Sql,
  orgId: string,
  id: string,
  rotationHours: number,
): Promise<WebhookTarget | undefined> {
  const [row] = await sql<WebhookTarget[]>`
    select url, events <> '{}' as "optIn", secret, ${previousSecrets(sql, rotationHours)} as "previousSecrets"
    from webhooks
    where org_id = ${orgId} and id = ${id} and deleted_at is null`;
  return row;
}

interface Ping {
  deliveryId: string;
  attemptId: string;
  body: string;
  outcome: DeliveryOutcome;
}
/** Writes down a ping with its only attempt, and counts it. */
export async function recordPing(
  sql: Sql,
  orgId: string,
  webhookId: string,
  { deliveryId, attemptId, body, outcome }: Ping,
): Promise<void> {
  await sql`
    with delivery as (
      insert into webhook_deliveries (id, org_id, webhook_id, event, body, state, attempts)
      select ${deliveryId}, ${orgId}, id, 'ping', ${body}, ${outcome.ok ? 'succeeded' : 'failed'}, 1
      from webhooks
      where org_id = ${orgId} and id = ${webhookId}
      returning id
    ), ${counted(sql, orgId, webhookId, outcome)}
    insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, error, duration_ms)
    select ${attemptId}, ${orgId}, ${webhookId}, id, 1, ${outcome.status}, ${outcome.error}, ${outcome.durationMs}
    from delivery`;
}

/**
 * Writes down one more attempt of a delivery that was over, and counts it: the last one says how that came out. The
 * webhook is locked before the delivery, as by a replay.
 */
export async function recordRedelivery(
  sql: Sql,
  orgId: string,
  webhookId: string,
  { deliveryId, attemptId, outcome }: Omit<Ping, 'body'>,
): Promise<void> {
  await sql`
    with webhook as materialized (
      select id, org_id
      from webhooks
      where org_id = ${orgId} and id = ${webhookId}
      for no key update
    ), delivery as (
      update webhook_deliveries d
      set attempts = d.attempts + 1, state = ${outcome.ok ? 'succeeded' : 'failed'}
      from webhook w
      where d.org_id = w.org_id and d.webhook_id = w.id and d.id = ${deliveryId} and d.state <> 'pending'
      returning d.id, d.attempts
    ), ${counted(sql, orgId, webhookId, outcome)}
    insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, error, duration_ms)
    select ${attemptId}, ${orgId}, ${webhookId}, id, attempts, ${outcome.status}, ${outcome.error},
      ${outcome.durationMs}
    from delivery`;
}

const counted = (sql: Sql, orgId: string, webhookId: string, { ok, status, error }: DeliveryOutcome): Fragment => sql`
  counted as (
    update webhooks
    set total = total + 1, succeeded = succeeded + ${ok ? 1 : 0}, failed = failed + ${ok ? 0 : 1},
      last_status = ${status}, last_error = ${error},
      last_delivered_at = case when ${ok} then now() else last_delivered_at end,
      consecutive_failures = case when ${ok} then 0 else consecutive_failures + 1 end
    where org_id = ${orgId} and id = ${webhookId} and exists (select from delivery)
    returning org_id, id, name, consecutive_failures, last_status, last_error
  ), ${announceFailing(sql, sql`counted where not ${ok}`)}`;
