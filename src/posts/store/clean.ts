import { cleanContent } from '../../content/index.ts';
import type { Sql } from '../../db/index.ts';

/** Cleans at most `limit` contents that were stored before contents were cleaned at the write; answers how many. */
export async function cleanStoredContents(sql: Sql, limit: number): Promise<number> {
  const rows = await sql<{ id: string; content: string }[]>`/* all orgs */
    select id, content from posts where not content_clean order by id limit ${limit}`;
  if (rows.length === 0) return 0;
  const cleaned = rows.map(({ id, content }) => ({ id, content, clean: cleanContent(content) }));
  await sql`/* all orgs */
    update posts p set content = c.clean, content_clean = true
    from json_to_recordset(${JSON.stringify(cleaned)}::text::json) as c (id uuid, content text, clean text)
    where p.id = c.id and p.content = c.content`;
  return rows.length;
}
