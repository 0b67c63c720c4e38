import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { owed, paymentPolicy, returns } from '../bulk.ts';
import { queuedFact, timeline, withChannel } from '../journal.ts';
import { followingDate, type Following } from '../recurrence.ts';
import type { PostsDeps } from '../deps.ts';
import { post, type ReadColumns } from '../row.ts';
import { PAST_MS } from '../rules.ts';
import { braked, labelsOf, lacksRoom, paused, queued, recurs, waiting } from '../state.ts';

interface Overtaken extends Pick<ReadColumns, 'id' | 'orgId' | 'recurrence' | 'publishDate' | 'version'> {}
const POSTS_AT_ONCE = 200;

/**
 * Moves posts of series that were due while no host was there to the latest date that has gone by since: only that one
 * is published, or judged. The dates in between are named.
 */
export async function catchUp(
  { sql }: Pick<PostsDeps, 'sql'>,
  channels: readonly string[],
  { beganAt, endedAt }: { beganAt: Date; endedAt: Date },
): Promise<void> {
  let last: string | undefined;
  for (;;) {
    const overtaken = await sql<Overtaken[]>`
      /* all orgs */
      select p.id, p.org_id as "orgId", p.recurrence, p.publish_date as "publishDate", p.version
      from channels c
      join posts p on p.org_id = c.org_id and p.channel_id = c.id
      where c.id = any(${[...channels]}::uuid[])
        and ${waiting(sql)}
        and ${recurs(sql)}
        and p.attempt = 0
        and p.due_at >= ${beganAt}
        and p.due_at <= ${endedAt}
        ${last === undefined ? sql`` : sql`and p.id > ${last}`}
      order by p.id
      limit ${POSTS_AT_ONCE}`;
    for (const one of overtaken) {
      const latest = followingDate(one.recurrence!, one.publishDate, endedAt, Infinity);
      if (latest && latest.at <= endedAt)
        // what is changed after the outage is not judged any more
        await moveTo(sql, one, latest, waiting(sql), sql`greatest(p.updated_at, ${endedAt}::timestamptz)`);
    }
    last = overtaken.at(-1)?.id;
    if (overtaken.length < POSTS_AT_ONCE) return;
  }
}

/**
 * Posts of series that a stopped channel or a brake has held, and no payment holds; `are` says which, of the post `p`,
 * its channel `c` and the `policy` of its organization.
 */
const stoppedInSeries = (sql: Sql, orgId: string, are: Fragment) => sql<(Overtaken & { choice: string; now: Date })[]>`
  with ${paymentPolicy(sql, orgId)}
  select p.id, p.org_id as "orgId", p.recurrence, p.publish_date as "publishDate", p.version, policy.choice,
    now() as now
  from policy, channels c
  join posts p on p.org_id = c.org_id and p.channel_id = c.id
  where c.org_id = ${orgId}
    and ${recurs(sql)}
    and not ${owed(sql)}
    and ${are}
  order by p.id`;

/**
 * Moves posts of series that are more than a day late in a channel that is about to work again, whose row is locked: to
 * the latest date that has gone by, where that is less than a day ago, else to the next one. They would stay paused until
 * a person decides, and their series with them. Where what is late is dropped, the latest date that has gone by is, and
 * the series goes on by itself.
 */
export async function catchUpStopped(sql: Sql, orgId: string, channelId: string): Promise<void> {
  const late = await stoppedInSeries(
    sql,
    orgId,
    sql`
      c.id = ${channelId}
      and ${queued(sql)}
      and (p.detail = 'paused' and p.deleted_at is null or ${returns(sql)})
      and not p.on_brake
      and not ${lacksRoom(sql)}
      and coalesce(p.due_at, p.publish_date) < case policy.choice
        when 'drop' then now()
        else now() - ${PAST_MS}::float8 * interval '1 ms' end`,
  );
  for (const { choice, now, ...one } of late) {
    const isDropped = choice === 'drop';
    const following = followingDate(one.recurrence!, one.publishDate, now, isDropped ? Infinity : PAST_MS);
    if (following && (!isDropped || following.at <= now)) await moveTo(sql, one, following, queued(sql));
  }
}

/**
 * Moves posts of series that the brake which is being released has held to the latest date that has gone by since, in
 * the channels `channels`, whose rows are locked and marked no more. They go out however late they are, and the next
 * of their series would be due at once behind them.
 */
export async function catchUpHeld(sql: Sql, orgId: string, channels: Fragment): Promise<void> {
  const held = await stoppedInSeries(
    sql,
    orgId,
    sql`
      c.id in (select id from channels where ${channels})
      and not c.disabled
      and not c.refresh_needed
      and ${paused(sql)}
      and p.on_brake
      and not ${braked(sql, labelsOf(sql))}
      and p.publish_date < now()`,
  );
  for (const { now, ...one } of held) {
    const latest = followingDate(one.recurrence!, one.publishDate, now, Infinity);
    if (latest && latest.at <= now) await moveTo(sql, one, latest, paused(sql));
  }
}

/** `movable`: what has to hold of the post `p` still; `changedAt`: when clients are told that it was changed. */
const moveTo = (
  sql: Sql,
  { id, orgId, publishDate, version }: Overtaken,
  { at, recurrence, skipped }: Following,
  movable: Fragment,
  changedAt = sql`now()`,
) => sql`
  with channel as materialized (
    select c.id
    from channels c
    where c.org_id = ${orgId}
      and c.id = (select p.channel_id from posts p where p.org_id = ${orgId} and p.id = ${id})
    for no key update
  ), moved as (
    update posts p
    set publish_date = ${at}, due_at = ${at}, recurrence = ${JSON.stringify(recurrence)}::text::jsonb,
      attempts_failed = 0, version = p.version + 1, updated_at = ${changedAt}
    from channel c
    where p.org_id = ${orgId}
      and p.id = ${id}
      and p.channel_id = c.id
      and p.version = ${version}
      and ${movable}
    returning ${post.names(sql, 'fact', 'p')}
  ), behind as (
    update posts p
    set publish_date = ${at}, updated_at = ${changedAt}
    from moved m
    where p.org_id = ${orgId}
      and p.root_post_id = m.id
      and p.state = 'QUEUE'
  ), ${timeline(sql, {
    from: sql`moved`,
    kind: 'scheduled',
    message: 'Dates of the series had gone by, and are skipped',
    data: sql`${JSON.stringify({ publishDate: at, skipped: [publishDate, ...skipped].slice(0, 50) })}::text::jsonb`,
  })}, ${announce(sql, {
    'post.scheduled': { from: withChannel(sql, sql`moved`), payload: queuedFact(sql) },
  })}
  select id
  from moved`;
