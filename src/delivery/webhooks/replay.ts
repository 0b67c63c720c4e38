import type { Fragment, Sql } from '../../platform/db/index.ts';
import { isId } from '../../platform/kernel/index.ts';
import { unknownWebhook, type WebhooksDeps } from './deps.ts';

/** Of one webhook at a time. */
const MOST_REPLAYED = 10_000;

/** Deliveries that are over: those between two numbers, of one event, that came out like this; absent: of all. */
export interface ReplayFilter {
  after?: number | undefined;
  before?: number | undefined;
  event?: string | undefined;
  state?: 'succeeded' | 'failed' | undefined;
}

/**
 * Queues deliveries again that are over, with the ids and bytes that they had: in their order, each with the
 * attempts of its event, behind all that is new. Answers how many, 10,000 at most.
 */
export async function replay(
  { sql }: Pick<WebhooksDeps, 'sql'>,
  orgId: string,
  id: string,
  filter: ReplayFilter,
): Promise<number> {
  const [row] = isId(id) ? await queueAgain(sql, orgId, id, filter) : [];
  if (!row) throw unknownWebhook();
  return row.queued;
}

// The webhook is locked first, as by whoever sends. What was chosen before a wait may have come out otherwise since, so
// it is asked again where it is changed.
const queueAgain = (sql: Sql, orgId: string, id: string, filter: ReplayFilter) => sql<{ queued: number }[]>`
  with webhook as materialized (
    select w.id, w.org_id
    from webhooks w
    where w.org_id = ${orgId}
      and w.id = ${id}
      and w.deleted_at is null
    for no key update
  ), chosen as materialized (
    select d.id
    from webhook_deliveries d
    join webhook w on w.id = d.webhook_id and w.org_id = d.org_id
    where d.seq is not null
      ${chosenBy(sql, filter)}
    order by d.seq
    limit ${MOST_REPLAYED}
  ), queued as (
    update webhook_deliveries d
    set state = 'pending', next_attempt_at = null, replayed_from = d.attempts
    from chosen c
    where d.org_id = ${orgId}
      and d.id = c.id
      ${chosenBy(sql, filter)}
    returning d.id
  ), due as (
    update webhooks w
    set due_at = least(w.due_at, now())
    from webhook l
    where w.id = l.id
      and w.org_id = l.org_id
      and exists (select from queued)
  )
  select (select count(*)::int from queued) as queued
  from webhook`;

const chosenBy = (sql: Sql, { after, before, event, state }: ReplayFilter): Fragment => sql`
      and d.state ${state === undefined ? sql`<> 'pending'` : sql`= ${state}`}
      ${after === undefined ? sql`` : sql`and d.seq > ${after}`}
      ${before === undefined ? sql`` : sql`and d.seq < ${before}`}
      ${event === undefined ? sql`` : sql`and d.event = ${event}`}`;
