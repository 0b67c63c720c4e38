import type { Sql } from '../../platform/db/index.ts';

export interface WebhookAttemptRow {
  attemptId: string;
  id: string;
  event: string;
  attempt: number;
  status: number;
  error: string | null;
  durationMs: number;
  at: Date;
}
export interface WebhookEventRow {
  seq: number;
  id: string;
  event: string;
  body: string;
  at: Date;
}
export interface DeliveryRow {
  id: string;
  event: string;
  body: string;
  state: 'pending' | 'succeeded' | 'failed';
  seq: number | null;
}

/**
 * Attempts, newest first, before the attempt `before`; with a `state` the last one of each delivery that is in it.
 */
export const listAttempts = (
  sql: Sql,
  orgId: string,
  webhookId: string,
  { limit, before, state }: { limit: number; before: string | undefined; state: DeliveryRow['state'] | undefined },
) => sql<WebhookAttemptRow[]>`
  select a.id as "attemptId", a.delivery_id as id, d.event, a.attempt, a.status, a.error, a.duration_ms as "durationMs",
    a.at
  from webhook_attempts a
  join webhook_deliveries d on d.id = a.delivery_id and d.org_id = a.org_id
  where a.org_id = ${orgId} and a.webhook_id = ${webhookId} ${before === undefined ? sql`` : sql`and a.id < ${before}`}
    ${state === undefined ? sql`` : sql`and d.state = ${state} and a.attempt = d.attempts`}
    ${state === 'failed' ? sql`and (a.status < 200 or a.status > 299)` : sql``}
  order by a.id desc
  limit ${limit}`;

/** The latest attempts to tell webhooks of a post, oldest first. */
export const listAttemptsOfPost = (sql: Sql, orgId: string, postId: string, limit: number) =>
  sql<Pick<WebhookAttemptRow, 'at' | 'event' | 'attempt' | 'status'>[]>`
    select *
    from (
      select a.id, a.at, d.event, a.attempt, a.status
      from webhook_deliveries d
      join webhook_attempts a on a.delivery_id = d.id and a.org_id = d.org_id
      where d.org_id = ${orgId}
        and d.post_id = ${postId}
      order by a.id desc
      limit ${limit}
    ) latest
    order by at, id`;

/** Events of a webhook after number `after`, in order. */
export const listEvents = (
  sql: Sql,
  orgId: string,
  webhookId: string,
  { after, limit }: { after: number; limit: number },
) => sql<WebhookEventRow[]>`
  select seq::float8 as seq, id, event, body, created_at as at
  from webhook_deliveries
  where org_id = ${orgId} and webhook_id = ${webhookId} and seq > ${after}
  order by seq
  limit ${limit}`;

/**
 * The numbers of the webhook's last event and of the oldest that is still kept; undefined when the org has no such
 * webhook.
 */
export async function seqsOf(
  sql: Sql,
  orgId: string,
  id: string,
): Promise<{ last: number; oldest: number | null } | undefined> {
  const [row] = await sql<{ last: number; oldest: number | null }[]>`
    select last_seq::float8 as last, (
      select d.seq::float8
      from webhook_deliveries d
      where d.org_id = w.org_id
        and d.webhook_id = w.id
        and d.seq is not null
      order by d.seq
      limit 1
    ) as oldest
    from webhooks w
    where org_id = ${orgId}
      and id = ${id}
      and deleted_at is null`;
  return row;
}

export async function findDelivery(
  sql: Sql,
  orgId: string,
  webhookId: string,
  id: string,
): Promise<DeliveryRow | undefined> {
  const [row] = await sql<DeliveryRow[]>`
    select id, event, body, state, seq::float8 as seq
    from webhook_deliveries
    where org_id = ${orgId} and webhook_id = ${webhookId} and id = ${id}`;
  return row;
}
