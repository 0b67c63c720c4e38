import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { Consumer } from '../../platform/outbox/index.ts';
import { EVENT_TYPES, STANDARD_EVENTS } from './events.ts';

/** The bus topic that wakes webhooks: `{ keys }`, the ids of their actors. */
export const WEBHOOKS_TOPIC = 'webhooks';

const EVENTS = EVENT_TYPES.map(({ event }) => event);
const instant = (sql: Sql, column: Fragment) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Makes the deliveries of facts: body in the order of the specification, written once; numbered per webhook in the order of
 * the facts. `row_to_json` keeps the order of its columns, adds no whitespace and leaves every letter as it is (W1).
 * A payload may hold what the post was like at the time of the fact: `state`, `detail`, `content`, `publishDate`.
 */
function write(sql: Sql): Fragment {
  const base = sql`x."postId", x."integrationId", x."providerIdentifier", x."integrationName", x.content, x.state, x.detail, x."publishDate", x."group"`;
  const channel = sql`c.id as "integrationId", c.provider_id as "providerIdentifier", c.name as "integrationName"`;
  return sql`
    webhooks_facts as (
      select g.id, g.org_id, g.topic as event, g.created_at, c.id as channel_id, case
        when g.topic = 'post.published' then (select row_to_json(r) from (select x."postId", x."integrationId", x."providerIdentifier", x."integrationName", x.content, coalesce(p.release_url, '') as url, 'PUBLISHED' as state, x."publishDate") r)
        when g.topic = 'post.failed' then (select row_to_json(r) from (select ${base}, coalesce(g.payload ->> 'errorKind', p.error_kind) as "errorKind", coalesce(g.payload ->> 'error', p.error) as error, coalesce(g.payload -> 'attempts', to_jsonb(p.attempt)) as attempts, coalesce(g.payload -> 'retryable', 'false') as retryable) r)
        when g.topic = 'post.retrying' then (select row_to_json(r) from (select ${base}, coalesce(g.payload ->> 'errorKind', p.error_kind) as "errorKind", coalesce(g.payload ->> 'error', p.error) as error, coalesce(g.payload -> 'attempt', to_jsonb(p.attempt)) as attempt, ${instant(sql, sql`coalesce((g.payload ->> 'nextAttemptAt')::timestamptz, p.due_at)`)} as "nextAttemptAt") r)
        when g.topic = 'post.late' then (select row_to_json(r) from (select ${base}, coalesce(p.release_url, '') as url, coalesce(g.payload -> 'latenessMs', to_jsonb(greatest(0, round(extract(epoch from p.published_at - p.publish_date) * 1000)))) as "latenessMs") r)
        when g.topic = 'post.unconfirmed' then (select row_to_json(r) from (select ${base}, coalesce(g.payload ->> 'error', p.error) as error) r)
        when g.topic like 'post.%' then (select row_to_json(r) from (select ${base}) r)
        else (select row_to_json(r) from (select ${channel}, g.payload ->> 'reason' as reason) r)
      end as data
      from gone g
      left join posts p on g.topic like 'post.%' and p.org_id = g.org_id and p.id = g.entity_id
      join channels c on c.org_id = g.org_id and c.id = case when g.topic like 'post.%' then p.channel_id else g.entity_id end
      cross join lateral (
        select p.id as "postId", ${channel}, coalesce(g.payload ->> 'content', p.content) as content,
          coalesce(g.payload ->> 'state', case g.topic when 'post.late' then 'PUBLISHED' when 'post.failed' then 'ERROR' when 'post.scheduled' then 'QUEUE' when 'post.retrying' then 'QUEUE' else p.state end) as state,
          case when g.payload ? 'detail' then g.payload ->> 'detail' else case g.topic when 'post.late' then null when 'post.scheduled' then 'scheduled' when 'post.retrying' then 'retrying' else p.detail end end as detail,
          ${instant(sql, sql`coalesce((g.payload ->> 'publishDate')::timestamptz, p.publish_date)`)} as "publishDate", p.group_id as "group"
      ) x
      where g.topic = any(${EVENTS}) and p.root_post_id is null
    ), webhooks_matched as (
      select w.id as webhook_id, f.id, f.org_id, f.event, f.created_at, row_number() over (partition by w.id order by f.id) as n,
        (select row_to_json(r)::text from (select f.event, ${instant(sql, sql`f.created_at`)} as timestamp, f.data) r) as body
      from webhooks_facts f
      join webhooks w on w.org_id = f.org_id and w.deleted_at is null
        and (w.channel_ids = '{}' or f.channel_id = any(w.channel_ids))
        and f.event = any(case when w.events = '{}' then ${STANDARD_EVENTS}::text[] else w.events end)
    ), webhooks_locked as (
      select w.id from webhooks w where w.id in (select webhook_id from webhooks_matched) and w.org_id in (select org_id from webhooks_matched) order by w.id for update
    ), webhooks_numbered as (
      update webhooks w set last_seq = w.last_seq + m.most, due_at = least(w.due_at, now())
      from (select webhook_id, max(n) as most from webhooks_matched group by webhook_id) m join webhooks_locked l on l.id = m.webhook_id
      where w.id = m.webhook_id
      returning w.id, w.last_seq - m.most as before
    ), webhooks_written as (
      insert into webhook_deliveries (id, org_id, webhook_id, outbox_id, seq, event, body, next_attempt_at, created_at)
      select gen_random_uuid(), m.org_id, m.webhook_id, m.id, b.before + m.n, m.event, m.body, now(), m.created_at
      from webhooks_matched m join webhooks_numbered b on b.id = m.webhook_id
      returning org_id || ':' || webhook_id as wake
    )`;
}

/** Hears of every fact in the outbox that a webhook can ask for. */
export const webhooksConsumer: Consumer = { name: 'webhooks', topic: WEBHOOKS_TOPIC, write };
