import { dealt, type Fragment, type Sql } from '../../platform/db/index.ts';
import type { NewWebhook, WebhookChange } from './input.ts';
import { announce } from '../../platform/outbox/index.ts';
import { type DeliveryOutcome, FAILING_AT } from './rules.ts';

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
/** What a delivery needs; the secrets are sealed. */
export interface WebhookTarget {
  url: string;
  optIn: boolean;
  secret: string | null;
  /** Those that were replaced and still sign, the newest first. */
  previousSecrets: readonly string[];
}
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

const isRotating = (sql: Sql, rotationHours: number): Fragment =>
  sql`secret_rotated_at > now() - ${rotationHours}::float8 * interval '1 hour'`;
/** The secrets of a webhook that were replaced and still sign, the newest first. */
export const previousSecrets = (sql: Sql, rotationHours: number): Fragment => sql`
  array_remove(array[
    case when ${isRotating(sql, rotationHours)} then previous_secret end,
    case when older_secret_until > now() then older_secret end
  ], null)`;

/**
 * Puts a new secret in the place of the one that signs. What a rotation before has replaced keeps the rest of its time:
 * whoever did not hear of that one rotates again, and receivers still have the secret before both. Of three within that
 * time the one in the middle goes.
 */
const rotation = (sql: Sql, secret: string, rotationHours: number): Fragment => sql`,
      secret = ${secret}, previous_secret = secret, secret_rotated_at = now(),
      (older_secret, older_secret_until) = (
        select
          case when older_secret_until > now() then older_secret when is_rotating then previous_secret end,
          case
            when older_secret_until > now() then older_secret_until
            when is_rotating then secret_rotated_at + ${rotationHours}::float8 * interval '1 hour' end
        from (select ${isRotating(sql, rotationHours)} as is_rotating) r
      )`;

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
 * Writes down one more attempt of a delivery that was over, and counts it. The webhook is locked before the delivery,
 * as by a replay.
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
      set attempts = d.attempts + 1, state = case when ${outcome.ok} then 'succeeded' else d.state end
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
  ), ${announceFailing(sql, sql`counted where consecutive_failures = ${FAILING_AT} and not ${ok}`)}`;

/** Announces the webhooks behind `from`, whose failures in a row have just become as many (S171). */
export const announceFailing = (sql: Sql, from: Fragment): Fragment =>
  announce(sql, {
    'webhook.failing': {
      from,
      payload: {
        name: sql`name`,
        failures: sql`consecutive_failures`,
        lastStatus: sql`last_status`,
        lastError: sql`last_error`,
      },
    },
  });

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

/**
 * Actors of webhooks with an attempt that is 5 s past and that nobody works on, and of those whose host is silent or
 * too slow; both dealt over organizations.
 */
export async function overdueWebhooks(sql: Sql, limit: number): Promise<string[]> {
  const keysOf = (condition: Fragment) => sql`
    select "orgId" || ':' || id as key
    from ${dealt(
      sql,
      sql`
        select w.org_id as "orgId", w.id, w.due_at as at
        from webhooks w
        where ${condition}
          and w.deleted_at is null`,
      limit,
    )} overdue`;
  const isDue = sql`w.due_at < now() - interval '5 s' and w.slot_incarnation is null`;
  const isLeft = sql`w.slot_incarnation is not null
          and (
            w.slot_until < now()
            or exists (
              select
              from actor_hosts h
              where h.incarnation = w.slot_incarnation
                and h.last_heartbeat < now() - interval '5 s'
            )
          )`;
  const rows = await sql<{ key: string }[]>`/* all orgs */
    ${keysOf(isDue)}
    union all
    ${keysOf(isLeft)}`;
  return rows.map(({ key }) => key);
}
