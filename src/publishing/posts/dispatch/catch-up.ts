import type { Sql } from '../../../platform/db/index.ts';
import { timeline } from '../journal.ts';
import { followingDate, type Following } from '../recurrence.ts';
import type { PostsDeps } from '../deps.ts';
import type { ReadColumns } from '../row.ts';
import { recurs, waiting } from '../state.ts';

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
      if (latest && latest.at <= endedAt) await moveTo(sql, one, latest);
    }
    last = overtaken.at(-1)?.id;
    if (overtaken.length < POSTS_AT_ONCE) return;
  }
}

const moveTo = (
  sql: Sql,
  { id, orgId, publishDate, version }: Overtaken,
  { at, recurrence, skipped }: Following,
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
      version = p.version + 1
    from channel c
    where p.org_id = ${orgId}
      and p.id = ${id}
      and p.channel_id = c.id
      and p.version = ${version}
      and ${waiting(sql)}
    returning p.id, p.org_id
  ), behind as (
    update posts p
    set publish_date = ${at}
    from moved m
    where p.org_id = ${orgId}
      and p.root_post_id = m.id
      and p.state = 'QUEUE'
  ), ${timeline(sql, {
    from: sql`moved`,
    kind: 'scheduled',
    message: 'Dates of the series had gone by, and are skipped',
    data: sql`${JSON.stringify({ publishDate: at, skipped: [publishDate, ...skipped].slice(0, 50) })}::text::jsonb`,
  })}
  select id
  from moved`;
