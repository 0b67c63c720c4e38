import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { NewWebhook, WebhookChange } from './input.ts';
import { rotation } from './rotation.ts';

export interface WebhookRow {
  id: string;
  name: string;
  url: string;
  channelIds: string[];
  events: string[];
  hasSecret: boolean;
  createdAt: Date;
  updatedAt: Date;
  total: number;
  succeeded: number;
  failed: number;
  lastStatus: number | null;
  lastError: string | null;
  lastDeliveredAt: Date | null;
  consecutiveFailures: number;
}

const columns = (sql: Sql): Fragment => sql`
  id, name, url, channel_ids as "channelIds", events, secret is not null as "hasSecret", created_at as "createdAt",
  updated_at as "updatedAt",
  total::float8 as total, succeeded::float8 as succeeded, failed::float8 as failed, last_status as "lastStatus",
  last_error as "lastError",
  last_delivered_at as "lastDeliveredAt", consecutive_failures as "consecutiveFailures"`;

export const listWebhooks = (sql: Sql, orgId: string) =>
  sql<
    WebhookRow[]
  >`select ${columns(sql)} from webhooks where org_id = ${orgId} and deleted_at is null order by created_at, id`;

export async function findWebhook(sql: Sql, orgId: string, id: string): Promise<WebhookRow | undefined> {
  const [row] = await sql<
    WebhookRow[]
  >`select ${columns(sql)} from webhooks where org_id = ${orgId} and id = ${id} and deleted_at is null`;
  return row;
}

/** Those of the ids that are channels of the org. */
export async function knownChannels(sql: Sql, orgId: string, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql<
    { id: string }[]
  >`select id from channels where org_id = ${orgId} and id = any(${ids}::uuid[]) and deleted_at is null`;
  return new Set(rows.map(({ id }) => id));
}

/** False when it is there already. */
export async function insertWebhook(
  sql: Sql,
  orgId: string,
  { id, name, url, channelIds, events, secret, createdAt }: NewWebhook,
): Promise<boolean> {
  const rows = await sql`
    insert into webhooks (id, org_id, name, url, channel_ids, events, secret, created_at, updated_at)
    values (${id}, ${orgId}, ${name}, ${url}, ${channelIds}::uuid[], ${events}::text[], ${secret ?? null}, ${createdAt},
      ${createdAt})
    on conflict (id) do nothing
    returning 1`;
  return rows.length > 0;
}

/** False when the org has no such webhook. */
export async function updateWebhook(
  sql: Sql,
  orgId: string,
  { id, name, url, channelIds, events, secret }: WebhookChange,
  rotationHours: number,
): Promise<boolean> {
  const rows = await sql`
    update webhooks
    set updated_at = now(),
      name = coalesce(${name ?? null}, name), url = coalesce(${url ?? null}, url),
      channel_ids = coalesce(${channelIds ?? null}::uuid[], channel_ids),
      events = coalesce(${events ?? null}::text[], events)
      ${secret === undefined ? sql`` : rotation(sql, secret, rotationHours)}
    where org_id = ${orgId}
      and id = ${id}
      and deleted_at is null ${secret === undefined ? sql`` : sql`and secret is distinct from ${secret}`}
    returning 1`;
  return rows.length > 0;
}

/**
 * Deletes a webhook, in the caller's transaction; what waits for it is dropped (S167), by a statement of its own: one
 * that waited for the webhook does not see the deliveries that were added to it meanwhile. Its secrets go at once; the
 * row goes with the last of its deliveries.
 */
export async function deleteWebhook(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    update webhooks
    set deleted_at = now(), secret = null, previous_secret = null, older_secret = null, older_secret_until = null,
      slot_incarnation = null, slot_delivery_id = null, slot_until = null, due_at = null
    where org_id = ${orgId} and id = ${id} and deleted_at is null`;
  if (count === 0) return false;
  await sql`delete from webhook_deliveries where org_id = ${orgId} and webhook_id = ${id} and state = 'pending'`;
  return true;
}
