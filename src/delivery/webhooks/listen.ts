import type { Fragment, Sql } from '../../platform/db/index.ts';
import { type Fact, listener } from '../../platform/outbox/index.ts';
import { bodyOfFact, channelOfFact, isHeard, isOfNoChannel, postOfFact } from './body.ts';
import { EVENT_TYPES, eventOf, STANDARD_EVENTS, type WebhookTopic } from './events.ts';

/** The bus topic that wakes webhooks: `{ keys }`, the ids of their actors. */
export const WEBHOOKS_TOPIC = 'webhooks';

/** Makes the deliveries of every fact that a webhook can ask for. */
export const webhooksListener = listener({
  name: 'webhooks',
  topics: EVENT_TYPES.flatMap(({ topics }) => topics),
  where: (sql) => sql`exists (select from webhooks w where w.org_id = o.org_id and w.deleted_at is null)`,
  async hear(sql, facts, wake) {
    const heard = facts.filter(isHeard);
    if (heard.length > 0) wake(WEBHOOKS_TOPIC, await insertDeliveries(sql, heard));
  },
});

/**
 * Writes a delivery of each fact for each webhook that asks for it, numbered by webhook in the order of the facts;
 * answers the webhooks' actors.
 */
async function insertDeliveries(sql: Sql, facts: readonly Fact<WebhookTopic>[]): Promise<string[]> {
  const rows = await sql<{ key: string }[]>`/* all orgs */
    with facts as (${inputOf(sql, facts)}
    ), matched as (${matchedFacts(sql)}
    ), locked as (
      select w.id
      from webhooks w
      where w.id in (select webhook_id from matched)
        and w.org_id in (select org_id from matched)
        and w.deleted_at is null -- asked again of one that this waited for
      order by w.id
      for update
    ), numbered as (
      update webhooks w
      set last_seq = w.last_seq + m.most, due_at = least(w.due_at, now())
      from (select webhook_id, max(n) as most from matched group by webhook_id) m
      join locked l on l.id = m.webhook_id
      where w.id = m.webhook_id
      returning w.id, w.last_seq - m.most as before
    ), inserted as (
      insert into webhook_deliveries (id, org_id, webhook_id, outbox_id, seq, event, body, post_id, next_attempt_at,
        created_at)
      select gen_random_uuid(), m.org_id, m.webhook_id, m.id, b.before + m.n, m.event, m.body, m.post_id, now(),
        m.created_at
      from matched m
      join numbered b on b.id = m.webhook_id
      returning org_id, webhook_id
    )
    select distinct org_id || ':' || webhook_id as key
    from inserted`;
  return rows.map(({ key }) => key);
}

const inputOf = (sql: Sql, facts: readonly Fact<WebhookTopic>[]): Fragment => sql`
      select *
      from unnest(
        ${facts.map(({ id }) => id)}::bigint[],
        ${facts.map(({ orgId }) => orgId)}::uuid[],
        ${facts.map(channelOfFact)}::uuid[],
        ${facts.map((fact) => String(isOfNoChannel(fact)))}::text[]::boolean[],
        ${facts.map(({ topic }) => eventOf(topic))}::text[],
        ${facts.map(bodyOfFact)}::text[],
        ${facts.map(postOfFact)}::uuid[],
        ${facts.map(({ at }) => at.toISOString())}::timestamptz[]
      ) with ordinality as t (id, org_id, channel_id, of_no_channel, event, body, post_id, created_at, place)`;

/** Each fact with each webhook that asks for it, numbered by webhook. */
const matchedFacts = (sql: Sql): Fragment => sql`
      select w.id as webhook_id, f.*, row_number() over (partition by w.id order by f.place) as n
      from facts f
      join webhooks w
        on w.org_id = f.org_id
        and w.deleted_at is null
        and (w.channel_ids = '{}' or f.of_no_channel or f.channel_id = any(w.channel_ids))
        and f.event = any(case when w.events = '{}' then ${STANDARD_EVENTS}::text[] else w.events end)`;
