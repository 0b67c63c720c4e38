import type { Database } from '../../src/platform/db/index.ts';
import type { KnownPost } from './known.ts';

// What must hold of the rows, as queries that answer what does not.

/** A row that breaks what holds between any two commits. */
export async function findBroken(sql: Database, posts: Iterable<KnownPost>, now: number): Promise<string | undefined> {
  /** Posts that are kept with the answer of their create. */
  const keyed = [...posts].filter(({ key }) => key !== undefined);
  const [broken] = await sql<{ what: string; id: string }[]>`
    select 'a due time later than that of its earliest post' as what, c.id
    from channels c
    where not c.disabled and not c.refresh_needed and c.deleted_at is null and c.brakes = '{}'
      and c.slot_incarnation is null and c.resting_until is null
      and exists (
        select from posts p
        where p.channel_id = c.id and p.state = 'QUEUE' and p.detail in ('scheduled', 'retrying')
          and p.deleted_at is null and p.due_at is not null
          and (c.next_due_at is null or c.next_due_at > greatest(p.due_at, p.publish_date))
      )
    union all
    select 'a slot for a post that is not under way', c.id
    from channels c
    join posts p on p.id = c.slot_post_id
    where c.slot_incarnation is not null
      and not (p.state = 'QUEUE' and p.detail in ('publishing', 'unconfirmed'))
    union all
    -- so no channel has two of them
    select 'a post under way, or one whose answer is missing, without the slot of its channel', p.id
    from posts p
    join channels c on c.id = p.channel_id
    where p.state = 'QUEUE' and c.slot_post_id is distinct from p.id
      and (
        p.detail = 'publishing'
        or p.detail = 'unconfirmed' and lost_at(p) > to_timestamp(${(now - 50_000) / 1_000})
      )
    union all
    select 'a post with another number of attempts than claims', p.id
    from posts p
    where p.attempt <> (select count(*) from post_timeline t where t.post_id = p.id and t.kind = 'claimed')
    union all
    select 'two posts of one series wait', min(p.id::text)::uuid
    from posts p
    where p.recurrence is not null and p.repeated_at is null and p.state = 'QUEUE' and p.deleted_at is null
    group by p.group_id
    having count(*) > 1
    union all
    select 'a post that forgets an attempt which failed', p.id
    from posts p
    where p.state = 'QUEUE' and p.detail = 'retrying' and p.attempts_failed = 0
      and p.error_kind is distinct from 'auth_expired' -- somebody logged in before it was said
    union all
    select 'a series whose local time moves', min(p.id::text)::uuid
    from posts p
    where p.recurrence is not null and p.publish_date <> p.created_at
    group by p.group_id
    having count(distinct (p.publish_date at time zone 'Europe/Berlin')::time) > 1
    union all
    select 'a published post without its fact', p.id
    from posts p
    where p.state = 'PUBLISHED' and p.root_post_id is null
      and not exists (select from told t where t.topic = 'post.published' and t.entity_id = p.id)
    union all
    select 'a result of a host that was given up', t.post_id
    from post_timeline t
    join posts p on p.id = t.post_id
    join channels c on c.id = p.channel_id
    where t.kind in ('published', 'rate_limited', 'woke')
      and c.provider_id <> 'sim-at-most-once' -- where a look-up says that nothing was sent
      and (
        select l.kind
        from post_timeline l
        where l.post_id = t.post_id and l.id < t.id
          and (l.kind = 'claimed' or l.message = 'The host that was sending fell silent')
        order by l.id desc
        limit 1
      ) = 'unconfirmed'
    union all
    select 'a create with its posts, and without its answer', p.id
    from unnest(${keyed.map(({ key }) => key!)}::text[], ${keyed.map(({ id }) => id)}::uuid[]) as t (key, post_id)
    join idempotency_keys k on k.key = t.key and k.status is null
    join posts p on p.id = t.post_id
    union all
    select 'two actions of one plug for a post', f.post_id
    from post_follow_ups f
    where f.kind = 'auto_plug'
    group by f.post_id, f.plug
    having count(*) > 1
    union all
    select 'a webhook whose numbers skip or repeat', d.webhook_id
    from webhook_deliveries d
    group by d.webhook_id
    having max(d.seq) <> count(*) or count(distinct d.seq) <> count(*)
    limit 1`;
  return broken && `${broken.what}: ${broken.id}`;
}

/** A claim of these hosts that nobody has settled. A post whose answer is missing keeps its slot for a while. */
export async function findHeld(sql: Database, hosts: readonly string[]): Promise<string | undefined> {
  const [held] = await sql<{ what: string }[]>`
    select 'the post ' || p.id || ' is claimed' as what
    from channels c
    join posts p on p.id = c.slot_post_id
    where c.slot_incarnation = any(${hosts}::text[]) and p.state = 'QUEUE' and p.detail = 'publishing'
    union all
    select 'the webhook ' || id || ' has its slot taken' from webhooks where slot_incarnation = any(${hosts}::text[])
    union all
    select 'the follow-up ' || id || ' is claimed' from post_follow_ups where incarnation = any(${hosts}::text[])
    limit 1`;
  return held?.what;
}

/** What has not come to its end by now. */
export async function findUnsettled(sql: Database, now: number): Promise<string | undefined> {
  await sql.unsafe(`set sim.now = '${new Date(now).toISOString()}'`);
  const [unsettled] = await sql<{ why: string }[]>`
    select format('the post %s is %s', p.id, p.detail) as why
    from posts p
    join channels c on c.id = p.channel_id
    where p.state = 'QUEUE' and p.deleted_at is null and not c.disabled and not c.refresh_needed
      and (
        p.detail in ('publishing', 'processing', 'unconfirmed')
        or p.detail in ('scheduled', 'retrying')
          and c.brakes = '{}'
          and greatest(p.due_at, p.publish_date, c.resting_until) <= now() - interval '20 seconds'
          -- an item that waits behind one that is paused: a person has to decide
          and not exists (select from posts q where q.id in (p.root_post_id, p.parent_post_id) and q.detail = 'paused')
      )
    union all
    select format('the follow-up %s is %s', f.id, f.state)
    from post_follow_ups f
    join channels c on c.id = f.channel_id
    where f.incarnation is not null
      or f.due_at <= now() - interval '20 seconds' and c.brakes = '{}' and f.state in ('waiting', 'unconfirmed')
    union all
    select format('the series of %s does not go on', id)
    from posts
    where recurrence is not null and repeated_at is null and root_post_id is null and deleted_at is null
      and state in ('PUBLISHED', 'ERROR')
    union all
    select format('the webhook %s is not told of the post %s', w.id, p.id)
    from posts p
    join webhooks w on w.org_id = p.org_id
    where p.state = 'PUBLISHED' and p.root_post_id is null
      and not exists (
        select from webhook_deliveries d
        where d.webhook_id = w.id and d.event = 'post.published' and d.body like '%' || p.id || '%'
      )
    union all
    select format('the channel %s has its slot taken', id)
    from channels
    where slot_incarnation is not null
    limit 1`;
  return unsettled?.why;
}
