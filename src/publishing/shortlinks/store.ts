import type { Fragment, Sql } from '../../platform/db/index.ts';
import { inFlight, insertTimeline, type Link, queued } from '../posts/index.ts';

/** A link that whoever claimed this row may ask for, until `ask_at`. Results are conditional on the attempt. */
export interface Claimed {
  id: string;
  orgId: string;
  postId: string;
  url: string;
  attempt: number;
  /** The provider that an earlier asker, who fell silent, had asked: a link may have been made. */
  doubtful: { providerId: string; providerVersion: string } | null;
}

export interface NewLink {
  id: string;
  orgId: string;
  postId: string;
  url: string;
}

/** Nobody asks for the link of the row `l`: its asker fell silent, and its post did not wait for its time then. */
const isLeft = (sql: Sql): Fragment => sql`(l.state = 'asking' and l.ask_at = 'infinity')`;

/**
 * Links that are to be made an hour ahead of their post; for a post that is not scheduled, not yet. Those that are
 * there stay, and are asked for at the new time.
 */
export const insertLinks = (sql: Sql, links: readonly NewLink[]) => sql`
  insert into short_links as l (id, org_id, post_id, url, url_hash, ask_at)
  select i.id, p.org_id, p.id, i.url, sha256(convert_to(i.url, 'UTF8')),
    case
      when p.state = 'QUEUE' then p.publish_date - interval '1 hour'
      else 'infinity' end
  from json_to_recordset(${JSON.stringify(links)}::text::json) as i (id uuid, "orgId" uuid, "postId" uuid, url text)
  join posts p
    on p.id = i."postId"
    and p.org_id = i."orgId"
  on conflict (post_id, url_hash) do update
  set ask_at = excluded.ask_at
  where l.state = 'waiting'
    or ${isLeft(sql)}`;

/** Forgets the links of these posts that their texts do not have any more. */
export const deleteOthers = (sql: Sql, orgId: string, postIds: readonly string[], links: readonly NewLink[]) => sql`
  delete from short_links l
  where l.org_id = ${orgId}
    and l.post_id = any(${[...postIds]}::uuid[])
    and not exists (
      select
      from json_to_recordset(${JSON.stringify(links)}::text::json) as i ("postId" uuid, url text)
      where i."postId" = l.post_id
        and i.url = l.url
    )`;

const thread = (sql: Sql, orgId: string, postId: string) => sql`
  select p.id, p.content, case when p.root_post_id is null then p.settings ->> 'firstComment' end as first_comment,
    p.seq, p.state = 'PUBLISHED' or ${inFlight(sql)} as gone
  from posts p
  where p.org_id = ${orgId}
    and (
      select coalesce(root_post_id, id)
      from posts t
      where t.org_id = ${orgId}
        and t.id = ${postId}
    ) in (p.id, p.root_post_id)
    and p.deleted_at is null`;

/** Whether links of this thread were to be shortened. */
export async function isAsked(sql: Sql, orgId: string, postId: string): Promise<boolean> {
  const [row] = await sql<{ asked: boolean }[]>`
    select exists (
      select
      from short_links l
      where l.org_id = ${orgId}
        and l.post_id in (select id from (${thread(sql, orgId, postId)}) t)
    ) as asked`;
  return row!.asked;
}

/** The items of a thread that have not gone out, with the first comment that the settings of its root ask for. */
export const itemsOf = (sql: Sql, orgId: string, postId: string) => sql<
  { id: string; content: string; firstComment: string | null }[]
>`
  select t.id, t.content, t.first_comment as "firstComment"
  from (${thread(sql, orgId, postId)}) t
  where not t.gone`;

/** A link whose asker fell silent may have been made at the provider `l` names. */
const doubtful = (sql: Sql): Fragment => sql`l.state = 'asking' and l.provider_id is not null`;

/** What whoever claimed a link is told, from its row `l` and `before`, which holds the provider asked before. */
const claimedLink = (sql: Sql, before: string): Fragment => sql`
  l.id, l.org_id as "orgId", l.post_id as "postId", l.url, l.attempt,
  case
    when ${sql(before)}.doubtful
    then json_build_object('providerId', ${sql(before)}.provider_id, 'providerVersion', ${sql(before)}.provider_version)
    end as doubtful`;

/**
 * Claims links that are due, of posts that wait for their time. What is due of another post is not looked at again
 * before it is scheduled. Nobody waits for a row that somebody else has.
 */
export const claimDue = async (
  sql: Sql,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<Claimed[]> => {
  const rows = await sql<(Claimed & { wanted: boolean })[]>`
    /* all orgs */
    with due as materialized (
      select l.id, l.post_id, l.org_id, ${doubtful(sql)} as doubtful, l.provider_id, l.provider_version
      from short_links l
      where l.state in ('waiting', 'asking')
        and l.ask_at <= now()
      order by l.ask_at
      limit ${limit}
      for no key update
      skip locked
    ), judged as (
      select d.*, ${isWanted(sql)} as wanted
      from due d
    )
    update short_links l
    set state = case when j.wanted then 'asking' else l.state end,
      attempt = l.attempt + j.wanted::int,
      ask_at = case when j.wanted then now() + ${leaseSeconds} * interval '1 second' else 'infinity' end,
      provider_id = case when not j.wanted then l.provider_id end,
      provider_version = case when not j.wanted then l.provider_version end
    from judged j
    where l.id = j.id
    returning ${claimedLink(sql, 'j')}, j.wanted`;
  return rows.filter(({ wanted }) => wanted);
};

/** Whether the post of the due link `d` waits for its time. */
const isWanted = (sql: Sql): Fragment => sql`
      exists (
        select
        from posts p
        where p.id = d.post_id
          and p.org_id = d.org_id
          and ${queued(sql)}
          and p.deleted_at is null
      )`;

/**
 * Claims the links of a post that is about to go out and that nobody asks for now. Those that are to be asked for later
 * are left; those that were put off until their post is scheduled are not.
 */
export const claimOfPost = (sql: Sql, orgId: string, postId: string, leaseSeconds: number) => sql<Claimed[]>`
  with open as materialized (
    select l.id, ${doubtful(sql)} as doubtful, l.provider_id, l.provider_version
    from short_links l
    where l.org_id = ${orgId}
      and l.post_id = ${postId}
      and (
        l.state = 'waiting' and (l.attempt = 0 or l.ask_at <= now() or l.ask_at = 'infinity')
        or l.state = 'asking' and l.ask_at <= now()
        or ${isLeft(sql)}
      )
    order by l.id
    for no key update
  )
  update short_links l
  set state = 'asking', attempt = l.attempt + 1, ask_at = now() + ${leaseSeconds} * interval '1 second',
    provider_id = null, provider_version = null
  from open o
  where l.id = o.id
  returning ${claimedLink(sql, 'o')}`;

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
export async function close(sql: Sql, orgId: string, postId: string): Promise<Link[]> {
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

/** A short link with what its provider last told. */
export interface CountedLink {
  id: string;
  orgId: string;
  url: string;
  shortUrl: string;
  linkId: string;
  providerId: string;
  providerVersion: string;
  clicks: number | null;
  isOld: boolean;
}
/** The short links of a thread, in the order of its items. `freshSeconds`: how long a count is good for. */
export const countedLinks = (sql: Sql, orgId: string, postId: string, freshSeconds: number) => sql<CountedLink[]>`
  select l.id, l.org_id as "orgId", l.url, l.short_url as "shortUrl", l.link_id as "linkId",
    l.provider_id as "providerId", l.provider_version as "providerVersion",
    l.clicks::float8 as clicks, coalesce(l.clicks_at < now() - ${freshSeconds} * interval '1 second', true) as "isOld"
  from short_links l
  join (${thread(sql, orgId, postId)}) t on t.id = l.post_id
  where l.org_id = ${orgId}
    and l.state = 'made'
  order by t.seq, l.id`;

export const noteClicks = (sql: Sql, { id, orgId }: CountedLink, clicks: number) => sql`
  update short_links
  set clicks = ${clicks}, clicks_at = now()
  where id = ${id}
    and org_id = ${orgId}`;
