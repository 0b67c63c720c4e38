import { keepAnswer, type KeptAnswer, type Sql } from '../../platform/db/index.ts';
import { AppError, newId, notFound } from '../../platform/kernel/index.ts';
import type { PostsDeps } from './deps.ts';

// Review notes (S122): what members say to each other about a post. No network sees them.

export interface NoteRow {
  id: string;
  content: string;
  /** Who wrote it; null once that account is erased. */
  userId: string | null;
  name: string;
  createdAt: Date;
}
/** A post with more notes takes none. */
const MOST_NOTES = 500;
/** First half of the key of the lock under which notes of a post are counted; the post itself may be about to go out. */
const ADDED = 0x6e6f7465;

/** The notes of a post, oldest first. Throws `not_found`. */
export async function listNotes({ sql }: { sql: Sql }, orgId: string, postId: string): Promise<readonly NoteRow[]> {
  const rows = await sql<(NoteRow | { [K in keyof NoteRow]: null })[]>`
    select n.id, n.content, n.user_id as "userId", n.created_at as "createdAt",
      coalesce(nullif(trim(u.name || ' ' || u.last_name), ''), a.email, 'Deleted user') as name
    from posts p
    left join post_notes n on n.post_id = p.id and n.org_id = p.org_id
    left join users a on a.id = n.user_id
    left join user_profiles u on u.user_id = n.user_id
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and p.deleted_at is null
    order by n.created_at, n.id`;
  if (rows.length === 0) throw notFound('Post not found');
  return rows.filter((row) => row.id !== null);
}

/** Writes a note below a post, and answers all of them. Throws `not_found`, and `conflict` where there is no room. */
export const addNote = (
  { sql }: Pick<PostsDeps, 'sql'>,
  orgId: string,
  postId: string,
  note: { userId: string; content: string },
  kept?: KeptAnswer<readonly NoteRow[]>,
) =>
  sql.begin(async (tx): Promise<readonly NoteRow[]> => {
    // a statement of its own: the next one sees what others did
    await tx`select pg_advisory_xact_lock(${ADDED}, hashtext(${postId}))`;
    const isAdded = await insertNote(tx, orgId, postId, note);
    const notes = await listNotes({ sql: tx }, orgId, postId);
    if (!isAdded) throw new AppError('conflict', `The post has ${MOST_NOTES} notes, and takes no more`);
    await keepAnswer(tx, kept, notes);
    return notes;
  });

async function insertNote(
  sql: Sql,
  orgId: string,
  postId: string,
  { userId, content }: { userId: string; content: string },
): Promise<boolean> {
  const { count } = await sql`
    insert into post_notes (id, org_id, post_id, user_id, content)
    select ${newId()}, p.org_id, p.id, ${userId}, ${content}
    from posts p
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and p.deleted_at is null
      and (select count(*) from post_notes n where n.post_id = p.id and n.org_id = p.org_id) < ${MOST_NOTES}`;
  return count > 0;
}
