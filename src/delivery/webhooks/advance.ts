import { groupCommit, type Sql } from '../../platform/db/index.ts';

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
/** `settled` is written down, then the next delivery is taken, or the webhook's slot is given free. */
export interface Step {
  orgId: string;
  webhookId: string;
  settled: Attempted | undefined;
  take: boolean;
}

/** One delivery of one webhook, taken for one attempt. */
export interface ClaimedDelivery {
  deliveryId: string;
  attempt: number;
  event: string;
  seq: number;
  body: string;
  url: string;
  optIn: boolean;
  secret: string | null;
  previousSecret: string | null;
}
/** `held`: another host is at work on this webhook, or it is gone. */
export type NextDelivery =
  | { kind: 'taken'; delivery: ClaimedDelivery }
  | { kind: 'early'; missingMs: number }
  | { kind: 'idle' }
  | { kind: 'held' };

interface Host {
  incarnation: string;
  holdMs: number;
  rotationHours: number;
}
interface Row {
  n: number;
  mine: boolean;
  stale: boolean;
  missingMs: number | null;
  deliveryId: string | null;
  attempt: number;
  event: string;
  seq: string;
  body: string;
  url: string;
  optIn: boolean;
  secret: string | null;
  previousSecret: string | null;
}

/**
 * The only door to a delivery: one statement for all webhooks of this process that move now. A slot that is free,
 * expired, this host's own, or of a host that has been silent for 5 s may be taken; due retries go before first
 * attempts, first attempts in the order of the events, and nothing while another delivery of the webhook is on its way.
 * A statement that waited for the row sees the deliveries as they were before the wait: what the row's last owner
 * settled in the meantime still looks due. So when the row has changed (`stale`), only the slot's own host goes on;
 * another looks again. Repeating a step has one effect: an attempt is counted when it is the row's next one, and what
 * this host had taken is taken again.
 */
export const openAdvance = ({ incarnation, holdMs, rotationHours }: Host) =>
  groupCommit(
    async (sql: Sql, steps: readonly Step[]): Promise<NextDelivery[]> => {
      const rows = await sql<Row[]>`
      with input as (
        select * from unnest(
          ${steps.map((step) => step.orgId)}::uuid[], ${steps.map((step) => step.webhookId)}::uuid[],
          ${steps.map((step) => String(step.take))}::text[]::boolean[],
          ${steps.map(({ settled }) => settled?.deliveryId ?? null)}::uuid[],
          ${steps.map(({ settled }) => settled?.attemptId ?? null)}::uuid[],
          ${steps.map(({ settled }) => settled?.attempt ?? null)}::int[],
          ${steps.map(({ settled }) => (settled ? String(settled.ok) : null))}::text[]::boolean[],
          ${steps.map(({ settled }) => settled?.status ?? null)}::int[],
          ${steps.map(({ settled }) => settled?.error ?? null)}::text[],
          ${steps.map(({ settled }) => settled?.durationMs ?? null)}::int[],
          ${steps.map(({ settled }) => settled?.retryInMs ?? null)}::float8[]
        )
          with ordinality as t (org_id, webhook_id, take, delivery_id, attempt_id, attempt, ok, status, error,
            duration_ms, retry_ms, n)
      ), locked as (
        select i.*, w.id, w.url, w.events, w.secret, w.xmin as version, w.slot_delivery_id,
          coalesce(w.slot_incarnation = ${incarnation}, false) as own,
          case
            when w.secret_rotated_at > now() - ${rotationHours}::float8 * interval '1 hour' then w.previous_secret end as previous_secret,
          w.slot_incarnation is null or w.slot_incarnation = ${incarnation} or w.slot_until < now()
            or exists (select
              from actor_hosts h
              where h.incarnation = w.slot_incarnation and h.last_heartbeat < now() - interval '5 s') as mine
        from input i join webhooks w on w.id = i.webhook_id and w.org_id = i.org_id and w.deleted_at is null
        order by w.id for update of w
      ), seen as (
        select l.*, w.xmin <> l.version as stale from locked l join webhooks w on w.id = l.id and w.org_id = l.org_id
      ), settled as (
        update webhook_deliveries d set attempts = l.attempt,
          state = case when l.ok then 'succeeded' when l.retry_ms is null then 'failed' else 'pending' end,
          next_attempt_at = case when not l.ok and l.retry_ms is not null then now() + l.retry_ms * interval '1 ms' end
        from seen l
        where d.id = l.delivery_id
          and d.org_id = l.org_id
          and d.webhook_id = l.id
          and d.state = 'pending'
          and d.attempts = l.attempt - 1
        returning d.id, d.state, d.next_attempt_at, d.org_id, d.webhook_id, l.n, l.attempt_id, l.attempt, l.status,
          l.error, l.duration_ms
      ), recorded as (
        insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, error, duration_ms)
        select attempt_id, org_id, webhook_id, id, attempt, status, error, duration_ms from settled
        on conflict (id) do nothing
      ), next as (
        select l.*, s.state as became, t.id as taken_id, t.attempts + 1 as taken_attempt, t.event, t.seq, t.body,
          least(
            (select d.next_attempt_at
              from webhook_deliveries d
              where d.webhook_id = l.id
                and d.org_id = l.org_id
                and d.state = 'pending'
                and d.attempts = 0
                and d.id is distinct from l.delivery_id
              order by d.seq limit 1),
            (select d.next_attempt_at
              from webhook_deliveries d
              where d.webhook_id = l.id
                and d.org_id = l.org_id
                and d.state = 'pending'
                and d.attempts > 0
                and d.id is distinct from l.delivery_id
              order by d.next_attempt_at limit 1),
            s.next_attempt_at) as at
        from seen l left join settled s on s.n = l.n left join lateral (
          select * from (
            (select 1 as rank, d.id, d.attempts, d.event, d.seq, d.body from webhook_deliveries d
              where d.id = l.slot_delivery_id
                and l.own
                and d.org_id = l.org_id
                and d.webhook_id = l.id
                and d.state = 'pending'
                and d.id is distinct from l.delivery_id)
            union all
            (select 2, d.id, d.attempts, d.event, d.seq, d.body from webhook_deliveries d
              where d.webhook_id = l.id
                and d.org_id = l.org_id
                and d.state = 'pending'
                and d.attempts > 0
                and d.next_attempt_at <= now()
                and d.id is distinct from l.delivery_id
              order by d.next_attempt_at limit 1)
            union all
            (select 3, d.id, d.attempts, d.event, d.seq, d.body from webhook_deliveries d
              where d.webhook_id = l.id
                and d.org_id = l.org_id
                and d.state = 'pending'
                and d.attempts = 0
                and d.id is distinct from l.delivery_id
              order by d.seq limit 1)
          ) candidates order by rank limit 1
        ) t on l.mine and l.take and (l.own or not l.stale)
      ), moved as (
        update webhooks w set
          slot_incarnation = case
            when not x.mine then w.slot_incarnation
            when x.taken_id is not null then ${incarnation} end,
          slot_delivery_id = case when not x.mine then w.slot_delivery_id else x.taken_id end,
          slot_until = case
            when not x.mine then w.slot_until
            when x.taken_id is not null then now() + ${holdMs}::float8 * interval '1 ms' end,
          due_at = case when not x.mine
            or x.taken_id is not null then w.due_at when x.stale then least(x.at, now()) else x.at end,
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
          and (x.became is not null or x.taken_id is not null or x.own or x.mine and w.due_at is distinct from x.at)
      )
      select n::int, mine, stale, case
        when at is not null then greatest(0, ceil(extract(epoch from at - now()) * 1000))::float8 end as "missingMs",
        taken_id as "deliveryId", taken_attempt as attempt, event, seq, body, url, events <> '{}' as "optIn", secret,
        previous_secret as "previousSecret"
      from next`;
      const byStep = new Map(rows.map((row) => [row.n, row]));
      return steps.map((_, n) => nextOf(byStep.get(n + 1)));
    },
    { max: 100 },
  ); // results meet their rows by number, each with each

function nextOf(row: Row | undefined): NextDelivery {
  if (!row?.mine) return { kind: 'held' };
  const { deliveryId, attempt, event, seq, body, url, optIn, secret, previousSecret } = row;
  if (deliveryId !== null)
    return {
      kind: 'taken',
      delivery: { deliveryId, attempt, event, seq: Number(seq), body, url, optIn, secret, previousSecret },
    };
  if (row.stale) return { kind: 'early', missingMs: 0 };
  return row.missingMs === null ? { kind: 'idle' } : { kind: 'early', missingMs: row.missingMs };
}
