import type { Sql } from '../../../platform/db/index.ts';
import { newId } from '../../../platform/kernel/index.ts';
import type { TagWish } from './body.ts';
import type { ReadColumns } from '../row.ts';
import { inFlight, neverCounted, overLimit } from '../state.ts';

// What a body names beside its channels: posts of the org, and tags.

/** A post of the org that a body names. */
export interface Existing {
  id: string;
  channelId: string;
  rootPostId: string | null;
  state: string;
  detail: string | null;
  isInFlight: boolean;
  publishDate: Date;
  /** Stands on first items. */
  approvalState: ReadColumns['approvalState'];
  recurrence: ReadColumns['recurrence'];
  repeatedAt: ReadColumns['repeatedAt'];
  group: string;
  tagIds: string[];
  /** The marks of its channel, while a brake holds it. */
  brakes: string[] | null;
  /** The tags that they name. */
  brakingTags: { id: string; name: string }[] | null;
  /** The plan has no room for it, or had none until it was given up. */
  isOverLimit: boolean;
}
export const findExisting = (sql: Sql, orgId: string, ids: readonly string[]): Promise<Existing[]> => sql<Existing[]>`
  select p.id, p.channel_id as "channelId", p.root_post_id as "rootPostId", p.state, p.detail,
    ${inFlight(sql)} as "isInFlight", p.publish_date as "publishDate", p.approval_state as "approvalState",
    p.recurrence, p.repeated_at as "repeatedAt", p.group_id as "group", p.tag_ids as "tagIds",
    case when p.on_brake then c.brakes end as brakes,
    case when p.on_brake then (
      select json_agg(json_build_object('id', t.id, 'name', t.name))
      from tags t
      where t.org_id = p.org_id
        and t.id::text = any(c.brakes)
    ) end as "brakingTags",
    ${overLimit(sql)} or ${neverCounted(sql)} as "isOverLimit"
  from posts p
  join channels c on c.id = p.channel_id and c.org_id = p.org_id
  where p.org_id = ${orgId}
    and p.id = any(${[...ids]}::uuid[])
    and p.deleted_at is null`;

/** The ids of tags by the names that are wished for; tags that are missing are made. */
async function ensureTags(
  sql: Sql,
  orgId: string,
  tags: readonly { id: string; name: string; color?: string | undefined }[],
): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; name: string }[]>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(tags)}::text::json) as t (id uuid, name text, color text)
    ), made as (
      insert into tags (id, org_id, name, color)
      select distinct on (lower(name)) id, ${orgId}::uuid, name, coalesce(color, '#612AD5')
      from wanted
      order by lower(name)
      on conflict (org_id, lower(name)) do update set name = tags.name
      returning id, lower(name) as key
    )
    select w.name, m.id
    from wanted w
    join made m on m.key = lower(w.name)`;
  return new Map(rows.map(({ id, name }) => [name, id]));
}

const nameOf = ({ name }: Pick<TagWish, 'name'>): string => name.normalize('NFC');
const keyOf = (wish: Pick<TagWish, 'name'>): string => nameOf(wish).toLowerCase();

/** The ids of those tags whose names are wished for. */
export function idsOfWished(wishes: readonly TagWish[], tags: readonly { id: string; name: string }[]): string[] {
  const wished = new Set(wishes.map(keyOf));
  return tags.flatMap((tag) => (wished.has(keyOf(tag)) ? tag.id : []));
}

/**
 * The ids of the tags that each of several bodies wishes for, by their names (S261), made where they are missing; the
 * first of two with one name counts. One statement at most.
 */
export async function tagsOf(
  { sql }: { sql: Sql },
  orgId: string,
  lists: readonly (readonly TagWish[])[],
): Promise<string[][]> {
  const named = new Map(
    lists
      .flat()
      .toReversed()
      .map((wish) => [keyOf(wish), { ...wish, name: nameOf(wish), id: newId() }]),
  );
  if (named.size === 0) return lists.map(() => []);
  const ids = await ensureTags(sql, orgId, [...named.values()]);
  const idOf = (wish: TagWish) => ids.get(named.get(keyOf(wish))!.name)!; // each is made of a wish
  return lists.map((wishes) => [...new Set(wishes.map(idOf))]);
}
