import { type Database, isReferenced, keepAnswer, type KeptAnswer, type Sql } from '../../platform/db/index.ts';
import { AppError, isId, newId, notFound } from '../../platform/kernel/index.ts';

// Tags of posts (S187). Their names are unique in the organization, whatever their case.

export interface TagRow {
  id: string;
  name: string;
  color: string;
}
/** What may be said of a tag; what is absent stays, or is the default. */
export interface TagFields {
  name?: string | undefined;
  color?: string | undefined;
}
interface Needs {
  sql: Sql;
}

const nameTaken = () =>
  new AppError('conflict', 'There is a tag of this name: use it, or choose another name', {
    errors: [{ field: 'name', message: 'name: is the name of another tag', rule: 'taken' }],
  });

/** The tags of an organization, by name. */
export const listTags = async ({ sql }: Needs, orgId: string): Promise<readonly TagRow[]> => sql<TagRow[]>`
  select id, name, color
  from tags
  where org_id = ${orgId}
  order by lower(name), id`;

type NewTag = TagFields & { name: string; createdBy: string };

/** Makes a tag. Throws `conflict` where there is one of that name. */
export const createTag = ({ sql }: { sql: Database }, orgId: string, tag: NewTag, kept?: KeptAnswer<TagRow>) =>
  sql.begin(async (tx): Promise<TagRow> => {
    const made = await insertTag({ sql: tx }, orgId, tag);
    await keepAnswer(tx, kept, made);
    return made;
  });

/** The same in a transaction. */
export async function insertTag({ sql }: Needs, orgId: string, { name, color, createdBy }: NewTag): Promise<TagRow> {
  const [made] = await sql<TagRow[]>`
    insert into tags (id, org_id, name, color, created_by)
    values (${newId()}, ${orgId}, ${name}, coalesce(${color ?? null}, '#612AD5'), ${createdBy})
    on conflict (org_id, lower(name)) do nothing
    returning id, name, color`;
  if (!made) throw nameTaken();
  return made;
}

/** Keeps a tag as it is until the commit. */
export const lockTag = async ({ sql }: Needs, orgId: string, tagId: string): Promise<void> => {
  await sql`
    select
    from tags
    where org_id = ${orgId}
      and id = ${tagId}
    for no key update`;
};

/** Changes a tag, also on the posts that have it. Throws `not_found`, and `conflict` where another has the name. */
export async function changeTag({ sql }: Needs, orgId: string, tagId: string, change: TagFields): Promise<TagRow> {
  const changed = await updateTag(sql, orgId, tagId, change);
  if (!changed) throw notFound('Tag not found');
  return changed;
}

async function updateTag(
  sql: Sql,
  orgId: string,
  tagId: string,
  { name, color }: TagFields,
): Promise<TagRow | undefined> {
  try {
    const [row] = await sql<TagRow[]>`
      update tags
      set name = coalesce(${name ?? null}, name), color = coalesce(${color ?? null}, color)
      where org_id = ${orgId}
        and id = ${tagId}
      returning id, name, color`;
    return row;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === UNIQUE) throw nameTaken();
    throw error;
  }
}
/** SQLSTATE of a row that is there already. */
const UNIQUE = '23505';

/** Deletes a tag; posts show it no more. Throws `not_found`, and `conflict` for the tag of a campaign. */
export async function removeTag({ sql }: Needs, orgId: string, tagId: string): Promise<void> {
  if (!(await deleteTag(sql, orgId, tagId))) throw notFound('Tag not found');
}

async function deleteTag(sql: Sql, orgId: string, tagId: string): Promise<boolean> {
  try {
    const { count } = await sql`delete from tags where org_id = ${orgId} and id = ${tagId}`;
    return count > 0;
  } catch (error) {
    if (isReferenced(error)) throw new AppError('conflict', 'A campaign has this tag: delete the campaign');
    throw error;
  }
}

/** Who made a tag; null where a post brought it, undefined when it is not there. */
export async function findTagAuthor({ sql }: Needs, orgId: string, tagId: string): Promise<string | null | undefined> {
  if (!isId(tagId)) return undefined;
  const [row] = await sql<{ createdBy: string | null }[]>`
    select created_by as "createdBy"
    from tags
    where org_id = ${orgId}
      and id = ${tagId}`;
  return row?.createdBy;
}
