import type { Fragment, Sql } from '../../platform/db/index.ts';
import { isId } from '../../platform/kernel/index.ts';

/** What an organization looks and sounds like (S190). */
export interface BrandKitRow {
  id: string;
  name: string;
  colors: string[];
  fonts: { role: string; family: string }[];
  /** Pictures of the library; one that was deleted there is left out. */
  logos: string[];
  voice: string | null;
  tone: string | null;
  audience: string | null;
  hashtags: string[];
  doList: string[];
  dontList: string[];
  isDefault: boolean;
}
/** What may be said of a kit; what is absent stays, or is empty. */
export type BrandKitFields = {
  readonly [K in Exclude<keyof BrandKitRow, 'id'>]?: BrandKitRow[K] | undefined;
};

/** The columns of a `BrandKitRow`, from `brand_kits b`. */
const columns = (sql: Sql): Fragment => sql`
    b.id, b.name, b.colors, b.fonts, array(
      select f.id
      from unnest(b.logo_ids) with ordinality as l (id, place)
      join files f on f.id = l.id and f.org_id = b.org_id and f.deleted_at is null
      order by l.place
    ) as logos, b.voice, b.tone, b.audience, b.hashtags, b.do_list as "doList", b.dont_list as "dontList",
    b.is_default as "isDefault"`;

/** The kits of an organization, the newest first; one more than `limit`, where there is one. */
export const selectBrandKits = (
  sql: Sql,
  orgId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<BrandKitRow[]> => sql<BrandKitRow[]>`
  select ${columns(sql)}
  from brand_kits b
  where b.org_id = ${orgId}
    ${cursor === undefined ? sql`` : sql`and b.id < ${cursor}`}
  order by b.id desc
  limit ${limit + 1}`;

export async function findBrandKit(sql: Sql, orgId: string, id: string): Promise<BrandKitRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<BrandKitRow[]>`
    select ${columns(sql)}
    from brand_kits b
    where b.org_id = ${orgId}
      and b.id = ${id}`;
  return row;
}

export const insertBrandKit = (
  sql: Sql,
  orgId: string,
  { id, name, createdBy }: { id: string; name: string; createdBy: string },
) => sql`
  insert into brand_kits (id, org_id, name, created_by)
  values (${id}, ${orgId}, ${name}, ${createdBy})`;

/** What is absent stays; false when the organization has no such kit. */
export async function updateBrandKit(sql: Sql, orgId: string, id: string, change: BrandKitFields): Promise<boolean> {
  const { voice, tone, audience, fonts } = change;
  const { count } = await sql`
    update brand_kits
    set name = coalesce(${change.name ?? null}, name),
      colors = coalesce(${change.colors ?? null}::text[], colors),
      fonts = coalesce(${fonts === undefined ? null : JSON.stringify(fonts)}::text::jsonb, fonts),
      logo_ids = coalesce(${change.logos ?? null}::uuid[], logo_ids),
      voice = ${voice === undefined ? sql`voice` : voice},
      tone = ${tone === undefined ? sql`tone` : tone},
      audience = ${audience === undefined ? sql`audience` : audience},
      hashtags = coalesce(${change.hashtags ?? null}::text[], hashtags),
      do_list = coalesce(${change.doList ?? null}::text[], do_list),
      dont_list = coalesce(${change.dontList ?? null}::text[], dont_list),
      is_default = coalesce(${change.isDefault ?? null}, is_default),
      updated_at = now()
    where org_id = ${orgId}
      and id = ${id}`;
  return count > 0;
}

/** No other kit is the default one; under the lock of the organization. */
export const clearDefault = (sql: Sql, orgId: string, except: string) => sql`
  update brand_kits
  set is_default = false, updated_at = now()
  where org_id = ${orgId}
    and is_default
    and id <> ${except}`;

/** False when the organization has no such kit. */
export async function deleteBrandKit(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    delete from brand_kits
    where org_id = ${orgId}
      and id = ${id}`;
  return count > 0;
}

/** Those of the ids that are pictures in the library of the organization. */
export async function knownPictures(sql: Sql, orgId: string, ids: readonly string[]): Promise<Set<string>> {
  const asked = ids.filter(isId);
  if (asked.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    select id
    from files
    where org_id = ${orgId}
      and id = any(${asked}::uuid[])
      and kind = 'image'
      and listed
      and deleted_at is null`;
  return new Set(rows.map(({ id }) => id));
}
