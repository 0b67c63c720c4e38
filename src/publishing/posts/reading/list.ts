import { type Fragment, type Sql, wideRows } from '../../../platform/db/index.ts';
import { invalidField, isId } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { waitsInSeries } from '../state.ts';
import { asOccurrence, isBefore, listOccurrences, type Place, type PlacedRow } from './occurrences.ts';
import { briefColumns, briefOf, type BriefPost, postColumns, type PostRow, postRowOf, type StoredPost } from './row.ts';

type Needs = Pick<PostsDeps, 'sql' | 'channels'>;

export interface ListFilter {
  from: Date;
  to: Date;
  customerId?: string | undefined;
  state?: string | undefined;
  channelId?: string | undefined;
  states?: readonly string[] | undefined;
  /** So many at most; what follows is asked for by `after`. Absent: all of the range, or none (`MOST_LISTED`). */
  limit?: number | undefined;
  /** Where the part before ended. */
  after?: Place | undefined;
}
export interface ListPart<Post = PostRow> {
  posts: Post[];
  /** Where it ends, when more follows. */
  next?: Place | undefined;
}
/** A range that holds more is told only in parts. */
const MOST_LISTED = 10_000;

/**
 * The first items of a range, in the order of their dates; `too_many` where it holds more than is told at once and no
 * `limit` was given.
 */
export const listPosts = (deps: Needs, orgId: string, filter: ListFilter): Promise<ListPart> =>
  listAs(deps.sql, orgId, filter, postColumns(deps.sql), (row) => postRowOf(deps, row as PlacedRow & StoredPost)); // its columns are read

/** The same with less of each post, and its place: reading a page takes as long as it has columns. */
export const listBriefly = (
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  filter: ListFilter,
): Promise<ListPart<BriefPost & Place>> => listAs(sql, orgId, filter, briefColumns(sql), briefOf);

async function listAs<Post>(
  sql: Sql,
  orgId: string,
  filter: ListFilter,
  columns: Fragment,
  postOf: (stored: PlacedRow) => Post,
): Promise<ListPart<Post>> {
  const { from, to, customerId, channelId, state, states, after, limit = MOST_LISTED } = filter;
  if (customerId !== undefined && !isId(customerId)) return { posts: [] };
  const narrowed = sql`
      ${customerId === undefined ? sql`` : sql`and c.customer_id = ${customerId}`}
      ${channelId === undefined ? sql`` : sql`and p.channel_id = ${channelId}`}
      ${states === undefined ? sql`` : sql`and p.state = any(${[...states]}::text[])`}
      ${state === undefined ? sql`` : sql`and p.state = ${state}`}`;
  const stored = await listStored(sql, orgId, { ...filter, columns, narrowed, most: limit + 1 });
  const occurrences =
    stored[0]?.hasSeries === false // said by each row; without one nothing is known
      ? []
      : await listOccurrences(sql, orgId, { columns, from, to, after, most: limit + 1, filter: narrowed });
  const rows =
    occurrences.length === 0
      ? stored
      : [...stored, ...occurrences].toSorted((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  if (last && filter.limit === undefined)
    throw invalidField(
      'endDate',
      `there are more than ${MOST_LISTED} posts up to then: ` +
        'ask for a shorter range, or for parts with limit and cursor',
      'too_many',
    );
  const posts = rows.slice(0, limit).map((row) => postOf(row));
  return { posts, next: last && { at: last.at, seq: last.seq } };
}

/** `hasSeries`: whether the organization has any. Most have none, and need no look at its dates. */
async function listStored(
  sql: Sql,
  orgId: string,
  {
    columns,
    from,
    to,
    after,
    narrowed,
    most,
  }: Pick<ListFilter, 'from' | 'to' | 'after'> & { columns: Fragment; narrowed: Fragment; most: number },
): Promise<(PlacedRow & { hasSeries: boolean })[]> {
  const rows = await wideRows(sql<(PlacedRow & { hasSeries: boolean })[]>`
    select ${columns}, to_char(p.publish_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as at, p.seq,
      exists (
        select
        from posts s
        where s.org_id = ${orgId}
          and ${waitsInSeries(sql, 's')}
      ) as "hasSeries"
    from posts p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.root_post_id is null
      and p.deleted_at is null
      and p.publish_date >= ${from}
      and p.publish_date <= ${to}
      ${narrowed}
      ${after === undefined ? sql`` : isAfter(sql, after)}
    order by p.publish_date, p.seq
    limit ${most}`);
  return rows.map(asOccurrence);
}

const isAfter = (sql: Sql, { at, seq }: Place): Fragment =>
  sql`and (p.publish_date, p.seq) > ((${at} || 'Z')::timestamptz, ${seq}::bigint)`;

export interface PageFilter {
  page: number;
  limit: number;
  customerId?: string | undefined;
  state?: string | undefined;
}
/** A count of a list ends here: it would cost as much as there are posts. */
const MOST_COUNTED = 10_000;
export interface Page {
  posts: PostRow[];
  /** How many there are, counted up to `MOST_COUNTED`. */
  total: number;
  hasMore: boolean;
}

const channelsOf = (sql: Sql, orgId: string, customerId: string): Fragment =>
  sql`select id from channels where org_id = ${orgId} and customer_id = ${customerId}`;

/** One page of first items, the latest date first. Skipped rows are read from the index alone. */
export async function listPage(
  deps: Needs,
  orgId: string,
  { page, limit, customerId, state }: PageFilter,
): Promise<Page> {
  const { sql } = deps;
  if (customerId !== undefined && !isId(customerId)) return { posts: [], total: 0, hasMore: false };
  const filter = sql`
    from posts p
    where p.org_id = ${orgId}
      and p.root_post_id is null
      and p.deleted_at is null
      ${customerId === undefined ? sql`` : sql`and p.channel_id in (${channelsOf(sql, orgId, customerId)})`}
      ${state === undefined ? sql`` : sql`and p.state = ${state}`}`;
  const [rows, [count]] = await Promise.all([
    wideRows(sql<StoredPost[]>`
      select ${postColumns(sql)}
      from (
        select p.id ${filter}
        order by p.publish_date desc, p.seq desc
        limit ${limit + 1}
        offset ${page * limit}
      ) i
      join posts p on p.id = i.id and p.org_id = ${orgId}
      join channels c on c.id = p.channel_id and c.org_id = p.org_id
      order by p.publish_date desc, p.seq desc`),
    sql<{ total: number }[]>`select count(*)::int as total from (select 1 ${filter} limit ${MOST_COUNTED}) counted`,
  ]);
  const posts = rows.slice(0, limit).map((row) => postRowOf(deps, row));
  return { posts, total: count!.total, hasMore: rows.length > limit };
}
