import type { Sql } from '../../../platform/db/index.ts';

// What a body names beside its channels: posts of the org, and tags.

/** A post of the org that a body names. */
export interface Existing {
  id: string;
  channelId: string;
  rootPostId: string | null;
  state: string;
  detail: string | null;
  publishDate: Date;
}
export const findExisting = (sql: Sql, orgId: string, ids: readonly string[]): Promise<Existing[]> => sql<Existing[]>`
  select id, channel_id as "channelId", root_post_id as "rootPostId", state, detail, publish_date as "publishDate"
  from posts
  where org_id = ${orgId}
    and id = any(${[...ids]}::uuid[])
    and deleted_at is null`;

/** The tags of these names, made where they are missing. Answers ids in the order of the names. */
export async function ensureTags(
  sql: Sql,
  orgId: string,
  tags: readonly { id: string; name: string; color?: string | undefined }[],
): Promise<string[]> {
  const rows = await sql<{ id: string; name: string }[]>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(tags)}::text::json) as t (id uuid, name text, color text)
    ), made as (
      insert into tags (id, org_id, name, color)
      select id, ${orgId}, name, coalesce(color, '#612AD5')
      from wanted
      on conflict (org_id, lower(name)) do update set name = tags.name
      returning id, name
    )
    select id, name from made`;
  const ids = new Map(rows.map(({ id, name }) => [name.toLowerCase(), id]));
  return [...new Set(tags.map(({ name }) => ids.get(name.toLowerCase())!))];
}
