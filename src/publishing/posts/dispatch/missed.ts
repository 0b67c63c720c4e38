import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import type { PostsDeps } from '../deps.ts';
import { failedFact, moment, postFact, timeline, withChannel } from '../journal.ts';
import { PARENT_FAILED, post } from '../row.ts';
import { PAST_MS } from '../rules.ts';
import { waiting } from '../state.ts';
import { catchUp } from './catch-up.ts';

// Posts that were due while no host was there (S126). They are judged before the first heartbeat after it, and nothing
// is claimed before that one (`hostIsHeard`): so no missed post goes out by a claim that was quicker.

/** A time in which no host was there, by the database's clock. */
interface Outage {
  beganAt: Date;
  endedAt: Date;
}

const CHANNELS_AT_ONCE = 100;
const POSTS_AT_ONCE = 500;

/** Judges what was missed in an outage: by the organization's policy it goes out late, waits for a yes, or is dropped. */
export async function judgeMissed(deps: PostsDeps, outage: Outage): Promise<void> {
  const { sql, options } = deps;
  let last: string | undefined;
  for (;;) {
    const channels = await findDueChannels(sql, outage, last);
    if (channels.length === 0) return;
    last = channels.at(-1);
    await catchUp(deps, channels, outage);
    for (let judged: { id: string }[] = []; ;) {
      judged = await judge(sql, channels, { ...outage, afterMs: options.missedAfterMs, last: judged.at(-1)?.id });
      if (judged.length < POSTS_AT_ONCE) break;
    }
  }
}

/** Channels in which something may have been due by the end of the outage, in the order of their ids. */
async function findDueChannels(sql: Sql, { endedAt }: Outage, last: string | undefined): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    /* all orgs */
    select c.id
    from channels c
    where c.next_due_at <= ${endedAt}
      and not c.disabled
      and not c.refresh_needed
      and c.deleted_at is null
      ${last === undefined ? sql`` : sql`and c.id > ${last}`}
    order by c.id
    limit ${CHANNELS_AT_ONCE}`;
  return rows.map(({ id }) => id);
}

interface Judgement extends Outage {
  afterMs: number;
  last: string | undefined;
}

const judge = (sql: Sql, channels: readonly string[], outage: Judgement) => sql<{ id: string }[]>`
  /* all orgs */
  with channel as materialized (
    select c.id, c.org_id, c.provider_id, c.name
    from channels c
    where c.id = any(${[...channels]}::uuid[])
    order by c.id
    for no key update
  ), due as materialized (${missedPosts(sql, outage)}
  ), judged as (${applyPolicy(sql, outage)}
  ), abandoned as (
    update posts p
    set state = 'ERROR', detail = 'missed', error_kind = 'missed', error = ${PARENT_FAILED}, updated_at = now()
    from judged j
    where j.state = 'ERROR'
      and p.org_id = j.org_id
      and p.root_post_id = j.id
      and p.state = 'QUEUE'
      and p.deleted_at is null
    returning p.id, p.org_id
  ), ${timeline(
    sql,
    {
      from: sql`judged`,
      kind: sql`case state when 'QUEUE' then 'woke' else 'failed' end`,
      message: sql`case state
        when 'QUEUE' then 'The service was down when it was due: it goes out late'
        else error end`,
      data: sql`jsonb_build_object('policy', policy, 'missedBetween',
        jsonb_build_array(${moment(sql, sql`${outage.beganAt}::timestamptz`)}, ${moment(sql, sql`${outage.endedAt}::timestamptz`)}))`,
    },
    { from: sql`abandoned`, kind: 'failed', message: PARENT_FAILED },
  )}, ${announce(sql, {
    'post.missed': {
      from: withChannel(sql, sql`judged`, sql`channel`),
      payload: { ...postFact(sql), state: sql`state`, detail: sql`detail`, policy: sql`policy` },
      order: sql`id`,
    },
    'post.failed': {
      from: withChannel(sql, sql`(select * from judged where state = 'ERROR')`, sql`channel`),
      payload: {
        ...failedFact(sql),
        detail: sql`detail`,
        attempts: sql`attempt`,
        retryable: sql`policy <> 'drop'`,
      },
      order: sql`id`,
    },
  })}
  select id
  from due
  order by id`;

/** First items that nobody has tried: what comes later in a thread goes on with it. */
const missedPosts = (sql: Sql, { beganAt, endedAt, afterMs, last }: Judgement): Fragment => sql`
    select p.id, p.org_id, p.channel_id, p.due_at, coalesce(o.settings->>'missedPolicy', 'publish') as policy
    from channel c
    join posts p on p.org_id = c.org_id and p.channel_id = c.id
    join organizations o on o.id = p.org_id
    where ${waiting(sql)}
      and p.root_post_id is null
      and p.attempt = 0
      and p.publish_date <= ${endedAt}
      and p.due_at >= ${beganAt}
      and p.due_at < ${endedAt}::timestamptz - ${afterMs}::float8 * interval '1 ms'
      and p.updated_at <= ${endedAt} -- else it was judged already, or changed by a person since
      and ( -- by a host that died before it was heard: then the same outage ends later
        select t.id
        from post_timeline t
        where t.post_id = p.id
          and t.org_id = p.org_id
          and t.kind = 'woke'
          and (t.data -> 'missedBetween' ->> 0)::timestamptz = ${beganAt}
        limit 1
      ) is null
      ${last === undefined ? sql`` : sql`and p.id > ${last}`}
    order by p.id
    limit ${POSTS_AT_ONCE}`;

const applyPolicy = (sql: Sql, { endedAt }: Judgement): Fragment => sql`
    update posts p
    set state = case when d.goes_out then p.state else 'ERROR' end,
      detail = case when d.goes_out then p.detail else 'missed' end,
      error_kind = case when d.goes_out then p.error_kind else 'missed' end,
      error = case
        when d.goes_out then p.error
        when d.policy = 'drop' then 'The service was down when this post was due'
        else 'The service was down when this post was due: retry it to publish it now'
      end,
      due_at = case when d.goes_out then p.due_at end,
      updated_at = now()
    from (
      select *, policy = 'publish'
          and due_at > ${endedAt}::timestamptz - ${PAST_MS}::float8 * interval '1 ms' as goes_out
      from due
    ) d
    where p.id = d.id
      and p.org_id = d.org_id
      and ${waiting(sql)}
      and p.updated_at <= ${endedAt} -- another host may have judged it while this one waited for the channel
    returning ${post.names(sql, 'fact', 'p')}, d.policy`;
