import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { PostMedia } from '../row.ts';

// What lies beside posts that are to be written: posts of their channels at nearly the same time.

/** A post that is to be written; `n` is its number. */
export interface Planned {
  n: number;
  channelId: string;
  date: Date;
  content: string;
  media: readonly PostMedia[];
}
/** A window of a network that a planned post falls into. */
export interface AskedPace {
  n: number;
  channelId: string;
  date: Date;
  /** Of the window in `network_paces`, and its length. */
  key: string;
  ms: number;
}
/** How full it is. */
export interface FoundPace {
  n: number;
  key: string;
  /** Posts of the channel in the window that ends at the date, and the first of them. */
  used: number;
  first: string | null;
  /** The window that runs now, over all who share it. */
  taken: number | null;
  until: string | null;
}
export interface Neighbours {
  /** Numbers of planned posts whose text and media the channel has within a day. */
  duplicates: number[];
  paces: FoundPace[];
}

const DAY_MS = 86_400_000;

/**
 * Numbers of planned posts whose text and media another one has that is to go out on the channel within a day. Two
 * changes of one post are no two posts.
 */
export function findTwins(
  planned: readonly (Planned & { postId: string | undefined; goesOut: boolean })[],
): ReadonlySet<number> {
  const alike = Map.groupBy(planned, ({ channelId, content, media }) =>
    JSON.stringify([channelId, content, media.map(fileOf)]),
  );
  const twins = [...alike.values()].flatMap((group) =>
    group.filter((one) =>
      group.some(
        (other) =>
          other.goesOut &&
          other !== one &&
          (one.postId === undefined || other.postId !== one.postId) &&
          Math.abs(other.date.getTime() - one.date.getTime()) < DAY_MS,
      ),
    ),
  );
  return new Set(twins.map(({ n }) => n));
}
const fileOf = ({ path, id }: PostMedia): string | undefined => path || id;

/** Posts of the channels near one date that are looked at. */
const MOST_NEAR = 5_000;

/** Looks for the neighbours of planned posts, in one statement; `edited` are the posts that they take the place of. */
export async function findNeighbours(
  sql: Sql,
  orgId: string,
  { planned, paces, edited }: { planned: readonly Planned[]; paces: readonly AskedPace[]; edited: readonly string[] },
): Promise<Neighbours> {
  if (planned.length === 0) return { duplicates: [], paces: [] };
  const rows = planned.map(({ media, ...one }) => ({ ...one, files: media.map(fileOf) }));
  const [found] = await sql<{ duplicates: number[] | null; paces: FoundPace[] | null }[]>`
    with entry as materialized (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as e (
        n int, "channelId" uuid, date timestamptz, content text, files jsonb
      )
    ), pace as materialized (
      select *
      from json_to_recordset(${JSON.stringify(paces)}::text::json) as e (
        n int, "channelId" uuid, date timestamptz, key text, ms float8
      )
    ), near as materialized (${postsNear(sql, orgId, edited)}
    ), duplicate as (${duplicates(sql, orgId)}
    ), budget as (${budgets(sql)}
    )
    select (select json_agg(n) from duplicate) as duplicates, (select json_agg(b) from budget b) as paces`;
  return { duplicates: found?.duplicates ?? [], paces: found?.paces ?? [] };
}

const postsNear = (sql: Sql, orgId: string, edited: readonly string[]): Fragment => sql`
      select d.date, p.*
      from (select distinct date from entry) d
      cross join lateral (
        select p.id, p.channel_id, p.publish_date, octet_length(p.content) as bytes
        from posts p
        where p.org_id = ${orgId}
          and p.root_post_id is null
          and p.deleted_at is null
          and p.publish_date > d.date - interval '1 day'
          and p.publish_date < d.date + interval '1 day'
          and p.channel_id in (select "channelId" from entry)
          and p.state in ('QUEUE', 'PUBLISHED')
          and p.id <> all(${[...edited]}::uuid[])
        order by p.publish_date desc
        limit ${MOST_NEAR}
      ) p`;

/** The length is compared first: a long text is read only where it may be the same. */
const duplicates = (sql: Sql, orgId: string): Fragment => sql`
      select distinct e.n
      from entry e
      join near n on n.date = e.date and n.channel_id = e."channelId" and n.bytes = octet_length(e.content)
      join posts p on p.org_id = ${orgId} and p.id = n.id
      where p.content = e.content
        and e.files = coalesce((
          select jsonb_agg(coalesce(nullif(m.file ->> 'path', ''), m.file ->> 'id') order by m.at)
          from jsonb_array_elements(p.media) with ordinality as m (file, at)
        ), '[]')`;

const budgets = (sql: Sql): Fragment => sql`
      select a.n, a.key, count(p.id)::int as used, min(p.publish_date) as first, w.posts as taken, w.until
      from pace a
      left join near p
        on p.date = a.date
          and p.channel_id = a."channelId"
          and p.publish_date > a.date - a.ms * interval '1 ms'
          and p.publish_date <= a.date
      left join network_paces w on w.key = a.key and w.until > now()
      group by a.n, a.key, w.posts, w.until`;
