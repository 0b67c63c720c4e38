import type { Sql } from '../../platform/db/index.ts';
import { insertTimeline, type Link } from '../posts/index.ts';
import type { Claimed } from './claim-store.ts';

const own = (sql: Sql, { id, orgId, attempt }: Claimed) =>
  sql`l.id = ${id} and l.org_id = ${orgId} and l.attempt = ${attempt} and l.state = 'asking'`;

/** Writes who is asked, before the request leaves. False: the row is somebody else's, or was decided. */
export const noteAsked = async (sql: Sql, row: Claimed, provider: { id: string; version: string }): Promise<boolean> =>
  (
    await sql`
      update short_links l
      set provider_id = ${provider.id}, provider_version = ${provider.version}
      where ${own(sql, row)}
      returning l.id`
  ).length > 0;

/** The link is made, and the timeline of the post says so. */
export const markMade = (sql: Sql, row: Claimed, made: { id: string; shortUrl: string }) => sql`
  with made as (
    update short_links l
    set state = 'made', link_id = ${made.id}, short_url = ${made.shortUrl}, reason = null
    where ${own(sql, row)}
    returning l.org_id, l.post_id as id, l.url, l.short_url
  )${insertTimeline(sql, {
    from: sql`made`,
    kind: 'short_link',
    message: 'A link was shortened',
    data: sql`jsonb_build_object('original', url, 'short', short_url)`,
  })}`;

const kept = (sql: Sql) =>
  insertTimeline(sql, {
    from: sql`kept where reason is not null`,
    kind: 'short_link',
    message: sql`'A link goes out as it is: ' || reason`,
    data: sql`jsonb_build_object('original', url, 'short', null)`,
  });

/** The long link goes out. Without a reason nobody is told: it is as it should be. */
export const markLong = (sql: Sql, row: Claimed, reason: string | null) => sql`
  with kept as (
    update short_links l
    set state = 'long', reason = ${reason}
    where ${own(sql, row)}
    returning l.org_id, l.post_id as id, l.url, l.reason
  ) ${kept(sql)}`;

/** Nothing was made: it is asked for again. */
export const putOff = (sql: Sql, row: Claimed, { inMs, reason }: { inMs: number; reason: string }) => sql`
  update short_links l
  set state = 'waiting', ask_at = now() + ${inMs}::float8 * interval '1 ms', reason = ${reason}, provider_id = null,
    provider_version = null
  where ${own(sql, row)}`;

/** Whether somebody else asks for a link of this post now. */
export const isBeingAsked = async (sql: Sql, orgId: string, postId: string): Promise<boolean> =>
  (
    await sql`
      select 1
      from short_links
      where org_id = ${orgId}
        and post_id = ${postId}
        and state = 'asking'
        and ask_at > now()
        and ask_at < 'infinity'
      limit 1`
  ).length > 0;

/** Decides what is open: the post goes out now. Answers what goes out. */
export async function closeLinks(sql: Sql, orgId: string, postId: string): Promise<Link[]> {
  await sql`
    with kept as (
      update short_links l
      set state = 'long', reason = coalesce(l.reason, 'the provider did not answer in time')
      where l.org_id = ${orgId}
        and l.post_id = ${postId}
        and l.state in ('waiting', 'asking')
      returning l.org_id, l.post_id as id, l.url, l.reason
    ) ${kept(sql)}`;
  return sql<Link[]>`
    select url, short_url as short
    from short_links
    where org_id = ${orgId}
      and post_id = ${postId}`;
}
