import { type Database, type Fragment, retentionRule, type Sql } from '../../../platform/db/index.ts';
import { isId } from '../../../platform/kernel/index.ts';

/** A campaign: a tag with dates. Its name and color are those of the tag, its posts those that carry the tag. */
export interface CampaignRow {
  id: string;
  tagId: string;
  name: string;
  color: string;
  description: string;
  /** First and last day, as `2026-11-23`. */
  startDate: string | null;
  endDate: string | null;
  /** First items of threads. */
  posts: number;
}
/** What a campaign has beside its tag. */
export interface CampaignFields {
  description?: string | undefined;
  startDate?: string | null | undefined;
  endDate?: string | null | undefined;
}

/** The columns of a `CampaignRow`, from `campaigns k` and its tag `t`. */
const columns = (sql: Sql): Fragment => sql`
    k.id, k.tag_id as "tagId", t.name, t.color, k.description, k.start_date::text as "startDate",
    k.end_date::text as "endDate", (
      select count(*)::int
      from posts p
      where p.org_id = k.org_id
        and p.tag_ids @> array[k.tag_id]
        and p.tag_ids <> '{}'
        and p.root_post_id is null
        and p.deleted_at is null
    ) as posts`;

/** The campaigns of an organization, the newest first; one more than `limit`, where there is one. */
export const selectCampaigns = (
  sql: Sql,
  orgId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<CampaignRow[]> => sql<CampaignRow[]>`
  select ${columns(sql)}
  from campaigns k
  join tags t on t.id = k.tag_id and t.org_id = k.org_id
  where k.org_id = ${orgId}
    ${cursor === undefined ? sql`` : sql`and k.id < ${cursor}`}
  order by k.id desc
  limit ${limit + 1}`;

export async function findCampaign(sql: Sql, orgId: string, id: string): Promise<CampaignRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<CampaignRow[]>`
    select ${columns(sql)}
    from campaigns k
    join tags t on t.id = k.tag_id and t.org_id = k.org_id
    where k.org_id = ${orgId}
      and k.id = ${id}`;
  return row;
}

/** The tags of campaigns by their ids; one that the organization does not have is missing. */
export async function tagsOfCampaigns(sql: Sql, orgId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const known = ids.filter(isId);
  if (known.length === 0) return new Map();
  const rows = await sql<{ id: string; tagId: string }[]>`
    select id, tag_id as "tagId"
    from campaigns
    where org_id = ${orgId}
      and id = any(${known}::uuid[])`;
  return new Map(rows.map(({ id, tagId }) => [id, tagId]));
}

/** Keeps a campaign until the end of the transaction, and answers its tag; undefined where there is none of that id. */
export async function holdCampaign(sql: Sql, orgId: string, id: string): Promise<string | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<{ tagId: string }[]>`
    select tag_id as "tagId"
    from campaigns
    where org_id = ${orgId}
      and id = ${id}
    for share`;
  return row?.tagId;
}

/** Locks a campaign for a change. */
export async function lockCampaign(
  sql: Sql,
  orgId: string,
  id: string,
): Promise<{ tagId: string; startDate: string | null; endDate: string | null } | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<{ tagId: string; startDate: string | null; endDate: string | null }[]>`
    select tag_id as "tagId", start_date::text as "startDate", end_date::text as "endDate"
    from campaigns
    where org_id = ${orgId}
      and id = ${id}
    for update`;
  return row;
}

/** False where the tag is that of a campaign already. */
export async function insertCampaign(
  sql: Sql,
  orgId: string,
  {
    id,
    tagId,
    description = '',
    startDate = null,
    endDate = null,
    createdBy,
  }: CampaignFields & { id: string; tagId: string; createdBy: string },
): Promise<boolean> {
  const { count } = await sql`
    insert into campaigns (id, org_id, tag_id, description, start_date, end_date, created_by)
    values (${id}, ${orgId}, ${tagId}, ${description}, ${startDate}, ${endDate}, ${createdBy})
    on conflict (tag_id) do nothing`;
  return count > 0;
}

/** What is absent stays, null clears. */
export const updateCampaign = (
  sql: Sql,
  orgId: string,
  id: string,
  { description, startDate, endDate }: CampaignFields,
) => sql`
  update campaigns
  set description = coalesce(${description ?? null}, description),
    start_date = ${startDate === undefined ? sql`start_date` : startDate},
    end_date = ${endDate === undefined ? sql`end_date` : endDate},
    updated_at = now()
  where org_id = ${orgId}
    and id = ${id}`;

/** Deletes a campaign with its tag. */
export async function deleteCampaign(sql: Sql, orgId: string, { id, tagId }: { id: string; tagId: string }) {
  await sql`
    delete from campaigns
    where org_id = ${orgId}
      and id = ${id}`;
  await sql`
    delete from tags
    where org_id = ${orgId}
      and id = ${tagId}`;
}

/** A brake stands on the campaign of this tag. */
export async function hasBrake(sql: Sql, orgId: string, tagId: string): Promise<boolean> {
  const rows = await sql`
    select
    from brakes
    where org_id = ${orgId}
      and brake = ${tagId}`;
  return rows.length > 0;
}

/** The last day of a campaign `k` was `days` ago, and no brake names it. */
const hasEnded = (sql: Sql, days: number): Fragment => sql`k.end_date < (now() at time zone 'UTC')::date - ${days}::int
        and not exists (
          select
          from brakes b
          where b.org_id = k.org_id
            and b.brake = k.tag_id::text
        )`;
export const campaignsRetention = retentionRule(
  'CAMPAIGN_PURGE_DAYS', // RT12
  ['ended-campaigns'],
  (sql, { days }) => sql`
    select k.end_date::timestamp at time zone 'UTC' as at
    from campaigns k
    where ${hasEnded(sql, days)}`,
);

/**
 * Deletes at most `limit` campaigns whose last day was more than `days` ago, with their tags; answers how many. One that
 * a brake stands on stays until it is resumed.
 */
export const deleteEnded = (sql: Database, days: number, limit: number): Promise<number> =>
  sql.begin(async (tx) => {
    const locked = await tx<{ id: string }[]>`/* all orgs */
      select k.id
      from campaigns k
      where ${hasEnded(tx, days)}
      order by k.end_date
      limit ${limit}
      for update
      skip locked`;
    if (locked.length === 0) return 0;
    // a statement of its own: it sees a brake whose commit came after the one above began, and before it locked the row
    const rows = await tx`/* all orgs */
      with ended as (
        select k.id, k.tag_id
        from campaigns k
        where k.id = any(${locked.map(({ id }) => id)}::uuid[])
          and ${hasEnded(tx, days)}
      ), campaigns_deleted as (
        delete from campaigns k
        using ended e
        where k.id = e.id
      )
      delete from tags t
      using ended e
      where t.id = e.tag_id
      returning 1`;
    return rows.length;
  });
