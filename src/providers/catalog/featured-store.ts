import type { Sql } from '../../platform/db/index.ts';

export interface FeaturedRow {
  domain: string;
  providerId: string;
  sortOrder: number;
  seeded: boolean;
}

/** Lists the rows in order, of one domain when given. */
export const featuredRows = (sql: Sql, domain?: string) => sql<FeaturedRow[]>`
  select domain, provider_id as "providerId", sort_order as "sortOrder", seeded
  from featured_providers
  where true ${domain === undefined ? sql`` : sql`and domain = ${domain}`}
  order by domain, sort_order, provider_id`;

/** Restores the order of the seeded rows; others stay. */
export const seedFeatured = (sql: Sql, rows: readonly Omit<FeaturedRow, 'seeded'>[]) => sql`
  insert into featured_providers (domain, provider_id, sort_order, seeded)
  select *, true
  from unnest(${rows.map(({ domain }) => domain)}::text[], ${rows.map(({ providerId }) => providerId)}::text[],
    ${rows.map(({ sortOrder }) => sortOrder)}::int[])
  order by 1, 2
  on conflict (domain, provider_id) do update
  set sort_order = excluded.sort_order, seeded = true`;

/** Adds a row or changes its order. Without an order a new row comes last, and an existing one keeps its own. */
export async function putFeatured(
  sql: Sql,
  domain: string,
  providerId: string,
  sortOrder: number | undefined,
): Promise<FeaturedRow> {
  const [row] = await sql<FeaturedRow[]>`
    insert into featured_providers as f (domain, provider_id, sort_order)
    values (${domain}, ${providerId},
      coalesce(${sortOrder ?? null}::int,
        (select coalesce(max(sort_order), 0) + 1 from featured_providers where domain = ${domain})))
    on conflict (domain, provider_id) do update
    set sort_order = coalesce(${sortOrder ?? null}::int, f.sort_order)
    returning domain, provider_id as "providerId", sort_order as "sortOrder", seeded`;
  return row!;
}

export async function removeFeatured(sql: Sql, domain: string, providerId: string): Promise<boolean> {
  const { count } = await sql`delete from featured_providers where domain = ${domain} and provider_id = ${providerId}`;
  return count > 0;
}

/** Sets the orders of rows of one domain; answers the ones that exist. */
export const reorderFeatured = (
  sql: Sql,
  domain: string,
  items: readonly { providerId: string; sortOrder: number }[],
) => sql<{ providerId: string }[]>`
  update featured_providers f
  set sort_order = given.sort_order
  from unnest(${items.map(({ providerId }) => providerId)}::text[],
    ${items.map(({ sortOrder }) => sortOrder)}::int[]) as given (provider_id, sort_order)
  where f.domain = ${domain} and f.provider_id = given.provider_id
  returning f.provider_id as "providerId"`;

/** Locks the order, so that each change sees the rows of the one before. */
export const lockFeatured = (sql: Sql) => sql`lock table featured_providers in share row exclusive mode`;
