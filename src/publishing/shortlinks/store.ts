import type { Fragment, Sql } from '../../platform/db/index.ts';
import { inFlight } from '../posts/index.ts';

export interface NewLink {
  id: string;
  orgId: string;
  postId: string;
  url: string;
}

/** Nobody asks for the link of the row `l`: its asker fell silent, and its post did not wait for its time then. */
export const isLeft = (sql: Sql): Fragment => sql`(l.state = 'asking' and l.ask_at = 'infinity')`;

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

/** The items of the thread of a post, and whether each is out or on its way. */
export const threadItems = (sql: Sql, orgId: string, postId: string) => sql`
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
        and l.post_id in (select id from (${threadItems(sql, orgId, postId)}) t)
    ) as asked`;
  return row!.asked;
}

/** The items of a thread that have not gone out, with the first comment that the settings of its root ask for. */
export const itemsOf = (sql: Sql, orgId: string, postId: string) => sql<
  { id: string; content: string; firstComment: string | null }[]
>`
  select t.id, t.content, t.first_comment as "firstComment"
  from (${threadItems(sql, orgId, postId)}) t
  where not t.gone`;
