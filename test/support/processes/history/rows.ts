import type { Database } from '../../../../src/platform/db/index.ts';
import type { Counter, DeliveryRow, FollowUpRow, History, LedgerRow, Money, PostRow, Written } from './shape.ts';

// The part of a history that plain SQL recounts after the fault.

/** The history's rows of all organizations but `canaryId`, which takes no part and is judged by itself. */
export async function rowsOf(
  sql: Database,
  canaryId: string | undefined,
): Promise<Pick<History, 'posts' | 'deliveries' | 'followUps' | 'counters' | 'money'>> {
  const others = () => sql`org_id is distinct from ${canaryId ?? null}::uuid`;
  return {
    posts: await sql<PostRow[]>`
      select id, org_id as "orgId", root_post_id as "rootId", group_id as "groupId", created_at as "createdAt", state,
        detail, error, attempt, deleted_at is not null as deleted, release_id as "releaseId",
        ${mayCount(sql)} as "isGranted"
      from posts
      where ${others()}
      order by seq`,
    deliveries: await sql<DeliveryRow[]>`
      select d.id, d.webhook_id as "webhookId", d.body::json -> 'data' ->> 'postId' as "postId",
        (select count(*)::int from webhook_attempts a where a.delivery_id = d.id) as attempts
      from webhook_deliveries d
      where ${others()}`,
    followUps: await sql<FollowUpRow[]>`
      select post_id as "postId", kind, state, release_id as "releaseId" from post_follow_ups where ${others()}`,
    counters: await countersOf(sql),
    money: await moneyOf(sql),
  };
}

/** The database of the network. */
export const ledgerOf = (sql: Database) => sql<LedgerRow[]>`
  select seq::float8 as seq, at, account, post_id as "postId", step, text, reply_to as "replyTo",
    idempotency_key as "idempotencyKey", accepted, answered
  from sandbox_ledger
  order by seq`;

/** Posts of a series that wait for room in the plan are not granted yet. */
const mayCount = (sql: Database) =>
  sql`(detail is distinct from 'paused' or error_kind is distinct from 'billing_required')`;

const countersOf = (sql: Database) => sql<Counter[]>`
  select c.org_id as "orgId", 'posts' as of, c.posts as counted, (
      select count(*)::int
      from posts p
      where p.org_id = c.org_id and p.root_post_id is null and p.created_at >= c.month_start and ${mayCount(sql)}
    ) as rows
  from org_counters c
  where c.month_anchor is not null
  union all
  select o.id, 'storage', coalesce(c.storage_bytes, 0)::float8, (
      select coalesce(sum(f.bytes), 0)::float8
      from files f
      where f.org_id = o.id and f.deleted_at is null and f.source_url is null and not f.own_storage
    )
  from organizations o
  left join org_counters c on c.org_id = o.id`;

/** Ledger and balances of what organizations spend at providers; a window is a scope in a day or a month. */
async function moneyOf(sql: Database): Promise<Money> {
  const windowOf = (row: ReturnType<Database>) => sql`concat_ws(' ', ${row})`;
  return {
    events: [],
    left: [],
    entries: await sql<Money['entries'][number][]>`
      select ${windowOf(sql`l.org_id, s.domain, s.provider_id, p.period, date_trunc(p.period, l.day::timestamp)::date`)}
        as window, l.kind, l.micros::float8 as micros
      from ai_ledger l
      cross join lateral (
        values ('', ''), (l.domain, l.provider_id)
      ) s (domain, provider_id)
      cross join (values ('day'), ('month')) p (period)`,
    balances: await sql<Money['balances'][number][]>`
      select ${windowOf(sql`org_id, domain, provider_id, period, starts`)} as window, spent::float8 as spent,
        reserved::float8 as reserved
      from ai_spend
      where domain <> 'program'`,
  };
}

/** Whether each of these rows of a table is there. */
export async function writtenIn(
  sql: Database,
  table: 'channels' | 'webhooks',
  ids: readonly string[],
): Promise<Written[]> {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)} where id = any(${[...ids]}::uuid[]) and deleted_at is null`;
  const found = new Set(rows.map(({ id }) => id));
  return ids.map((id) => ({ what: table, id, isThere: found.has(id) }));
}
