import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announceFailing } from '../failing.ts';
import { previousSecrets } from '../rotation.ts';
import { claimable, earliestOthers } from './next-delivery.ts';
import { isSlotLost, slotOf } from './slots.ts';

/** What became of an attempt. `retryInMs` null: it was the last one, or it worked. */
export interface Attempted {
  deliveryId: string;
  attemptId: string;
  attempt: number;
  ok: boolean;
  status: number;
  error: string | null;
  durationMs: number;
  retryInMs: number | null;
}
/** Writes `settled` down, then claims the next delivery, or releases the webhook's slot. */
export interface Step {
  orgId: string;
  webhookId: string;
  settled: Attempted | undefined;
  claim: boolean;
}

/** The process that claims: `leaseMs` is how long a slot is held without news. */
export interface AdvanceOptions {
  incarnation: string;
  leaseMs: number;
  rotationHours: number;
}
/** What became of step `n`: whether the slot is this host's, and the delivery that it claimed. */
export interface AdvancedRow {
  n: number;
  mine: boolean;
  stale: boolean;
  missingMs: number | null;
  deliveryId: string | null;
  attempt: number;
  replayedFrom: number;
  event: string;
  seq: string;
  body: string;
  url: string;
  optIn: boolean;
  secret: string | null;
  previousSecrets: readonly string[] | null;
}

/**
 * One statement for many webhooks. A slot that is free, expired, this host's own, or of a host that has been silent for
 * 5 s may be claimed; due retries go before first attempts, first attempts in the order of the events, and nothing
 * while another delivery of the webhook is on its way.
 *
 * Webhooks are locked in the order of their ids. A statement that waited for the row sees the deliveries as they were
 * before the wait: what the row's last owner settled in the meantime still looks due. So when the row has changed
 * (`stale`), only the slot's own host goes on; another looks again. Repeating a step has one effect: an attempt is
 * counted when it is the row's next one, and what this host had claimed is claimed again.
 */
export const advanceWebhooks = (sql: Sql, host: AdvanceOptions, steps: readonly Step[]) => sql<AdvancedRow[]>`
  with steps as (${inputOf(sql, steps)}
  ), locked_webhooks as (${lockedWebhooks(sql, host)}
  ), seen_webhooks as (
    select l.*, w.xmin <> l.version as stale
    from locked_webhooks l
    join webhooks w
      on w.id = l.id
      and w.org_id = l.org_id
  ), settled_deliveries as (${settledDeliveries(sql)}
  ), attempts as (
    insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, error, duration_ms)
    select attempt_id, org_id, webhook_id, id, attempt, status, error, duration_ms
    from settled_deliveries
    on conflict (id) do nothing
  ), next as (
    select l.*, s.state as became, c.id as claimed_id, c.attempts + 1 as claimed_attempt, c.replayed_from, c.event,
      c.seq, c.body,
      least(${earliestOthers(sql)}, s.next_attempt_at) as at
    from seen_webhooks l
    left join settled_deliveries s on s.n = l.n
    left join lateral (${claimable(sql)}
    ) c on l.mine and l.claim and (l.own or not l.stale)
  ), webhooks_updated as (${updateWebhooks(sql, host)}
  ), ${announceFailing(sql, sql`webhooks_updated where became = 'failed'`)}
  select n::int, mine, stale,
    case
      when at is not null then greatest(0, ceil(extract(epoch from at - now()) * 1000))::float8 end as "missingMs",
    claimed_id as "deliveryId", claimed_attempt as attempt,
    coalesce(replayed_from, 0) as "replayedFrom", event, seq, body, url, events <> '{}' as "optIn", secret,
    previous_secrets as "previousSecrets"
  from next`;

const inputOf = (sql: Sql, steps: readonly Step[]): Fragment => sql`
    select *
    from unnest(
      ${steps.map(({ orgId }) => orgId)}::uuid[],
      ${steps.map(({ webhookId }) => webhookId)}::uuid[],
      ${steps.map(({ claim }) => String(claim))}::text[]::boolean[],
      ${steps.map(({ settled }) => settled?.deliveryId ?? null)}::uuid[],
      ${steps.map(({ settled }) => settled?.attemptId ?? null)}::uuid[],
      ${steps.map(({ settled }) => settled?.attempt ?? null)}::int[],
      ${steps.map(({ settled }) => (settled ? String(settled.ok) : null))}::text[]::boolean[],
      ${steps.map(({ settled }) => settled?.status ?? null)}::int[],
      ${steps.map(({ settled }) => settled?.error ?? null)}::text[],
      ${steps.map(({ settled }) => settled?.durationMs ?? null)}::int[],
      ${steps.map(({ settled }) => settled?.retryInMs ?? null)}::float8[]
    ) with ordinality as t (org_id, webhook_id, claim, delivery_id, attempt_id, attempt, ok, status, error,
      duration_ms, retry_ms, n)`;

/** `own`: this host holds the slot already. `mine`: it may hold it. */
const lockedWebhooks = (sql: Sql, { incarnation, rotationHours }: AdvanceOptions): Fragment => sql`
    select i.*, w.id, w.url, w.events, w.secret, w.xmin as version, w.slot_delivery_id,
      coalesce(w.slot_incarnation = ${incarnation}, false) as own,
      ${previousSecrets(sql, rotationHours)} as previous_secrets,
      w.slot_incarnation is null
        or w.slot_incarnation = ${incarnation}
        or ${isSlotLost(sql)} as mine
    from steps i
    join webhooks w
      on w.id = i.webhook_id
      and w.org_id = i.org_id
      and w.deleted_at is null
    order by w.id
    for update of w`;

const settledDeliveries = (sql: Sql): Fragment => sql`
    update webhook_deliveries d
    set attempts = l.attempt,
      state = case
        when l.ok then 'succeeded'
        when l.retry_ms is null then 'failed'
        else 'pending' end,
      next_attempt_at = case
        when not l.ok and l.retry_ms is not null then now() + l.retry_ms * interval '1 ms' end
    from seen_webhooks l
    where d.id = l.delivery_id
      and d.org_id = l.org_id
      and d.webhook_id = l.id
      and d.state = 'pending'
      and d.attempts = l.attempt - 1
    returning d.id, d.state, d.next_attempt_at, d.org_id, d.webhook_id, l.n, l.attempt_id, l.attempt, l.status,
      l.error, l.duration_ms`;

const updateWebhooks = (sql: Sql, host: AdvanceOptions): Fragment => sql`
    update webhooks w
    set ${slotOf(sql, host)},
      due_at = case
        when not x.mine or x.claimed_id is not null then w.due_at
        when x.stale then least(x.at, now())
        else x.at end,
      total = w.total + case when x.became in ('succeeded', 'failed') then 1 else 0 end,
      succeeded = w.succeeded + case when x.became = 'succeeded' then 1 else 0 end,
      failed = w.failed + case when x.became = 'failed' then 1 else 0 end,
      last_status = case when x.became is null then w.last_status else x.status end,
      last_error = case when x.became is null then w.last_error else x.error end,
      last_delivered_at = case when x.became = 'succeeded' then now() else w.last_delivered_at end,
      consecutive_failures = case x.became
        when 'succeeded' then 0
        when 'failed' then w.consecutive_failures + 1
        else w.consecutive_failures end
    from next x
    where w.id = x.id
      and w.org_id = x.org_id
      and (x.became is not null or x.claimed_id is not null or x.own or x.mine and w.due_at is distinct from x.at)
    returning w.org_id, w.id, w.name, w.consecutive_failures, w.last_status, w.last_error, x.became`;
