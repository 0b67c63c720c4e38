import { cleanContent } from '../../../platform/content/index.ts';
import type { Sql } from '../../../platform/db/index.ts';

/**
 * Cleans at most `limit` contents that were stored before contents were cleaned at the write; answers how many. It
 * waits for no row: a claim locks the posts of many channels in the order of their times, and each would wait for the
 * other. What is locked is for the next round.
 */
export async function cleanStoredContents(sql: Sql, limit: number): Promise<number> {
  const rows = await sql<{ id: string; content: string }[]>`/* all orgs */
    select id, content
    from posts
    where not content_clean
    order by id
    limit ${limit}`;
  if (rows.length === 0) return 0;
  const cleaned = rows.map(({ id, content }) => ({ id, content, clean: cleanContent(content) }));
  const { count } = await sql`/* all orgs */
    with free as materialized (
      select id
      from posts
      where id = any(${rows.map(({ id }) => id)}::uuid[])
      for no key update
      skip locked
    )
    update posts p
    set content = c.clean, content_clean = true
    from json_to_recordset(${JSON.stringify(cleaned)}::text::json) as c (id uuid, content text, clean text)
    join free f on f.id = c.id
    where p.id = c.id
      and p.content = c.content`;
  return count;
}
