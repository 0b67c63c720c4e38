import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { Delivery } from '../../providers/registry/index.ts';
import { EMAIL_STATUSES } from './store.ts';

/** How far each status is. A mail goes forward only: nothing comes after a bounce or a complaint (S173). */
const RANKS = {
  queued: 0,
  sent: 1,
  delivered: 2,
  opened: 3,
  clicked: 4,
  bounced: 5,
  complained: 5,
} as const satisfies Record<(typeof EMAIL_STATUSES)[number], number>;

export interface Moved {
  id: string;
  status: Delivery['status'];
}
const inputOf = (sql: Sql, told: readonly Delivery[]): Fragment => sql`
    select *
    from unnest(
      ${told.map(({ messageId }) => messageId)}::text[],
      ${told.map(({ id }) => id ?? null)}::uuid[],
      ${told.map(({ status }) => status)}::text[],
      ${told.map(({ status }) => RANKS[status])}::int[],
      ${told.map(({ reason }) => reason ?? null)}::text[],
      ${told.map(({ isAddressBad = false }) => String(isAddressBad))}::text[]::boolean[]
    ) with ordinality as t (message_id, own_id, status, rank, reason, address_bad, n)`;

/**
 * Moves the mails that are named to the furthest status told of each; answers which were moved, and to what. A mail is
 * known by the provider's id, or by ours as long as nothing else is known of it: an event may be here before the answer
 * to the call that sent it. Rows are locked in order of id, so that batches which meet do not wait for each other.
 */
export const advance = (sql: Sql, providerId: string, told: readonly Delivery[]) => sql<Moved[]>`
  /* all orgs */
  with told as (${inputOf(sql, told)}
  ), named as (
    select e.id, t.*
    from told t
    join emails e on e.provider_id = ${providerId} and e.provider_message_id = t.message_id
    union all
    select e.id, t.*
    from told t
    join emails e on e.id = t.own_id and e.provider_id = ${providerId}
  ), furthest as (
    select distinct on (id) *
    from named
    order by id, rank desc, n
  ), locked as (
    select id
    from emails
    where id in (select id from furthest)
    order by id
    for update
  )
  update emails e
  set status = f.status, provider_message_id = coalesce(e.provider_message_id, f.message_id),
    sent_at = coalesce(e.sent_at, now()),
    content = null, next_attempt_at = null, last_error = f.reason,
    address_bad = f.address_bad
  from furthest f
  join locked l on l.id = f.id
  where e.id = f.id and (${sql.json(RANKS)}::jsonb ->> e.status)::int < f.rank
  returning e.id, e.status`;

/** Whether this body is the one that the token proves: the first that came with it. */
export async function isProvedBy(sql: Sql, token: Buffer, body: Buffer): Promise<boolean> {
  const [row] = await sql<{ body: Buffer }[]>`
    insert into email_event_tokens (token, body)
    values (${token}, ${body})
    on conflict (token) do update
    set token = excluded.token
    returning body`; // the row as it was, once it is settled
  return row!.body.equals(body);
}

export async function dropOldEventTokens(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    /* all orgs */
    delete from email_event_tokens
    where token = any(array(
      select token
      from email_event_tokens
      where seen_at < now() - interval '1 day'
      order by seen_at
      limit ${limit}
    ))`;
  return count;
}
