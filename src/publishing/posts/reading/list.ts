import { groupCommit, type Sql } from '../../../platform/db/index.ts';
import { tenantKey } from '../../../platform/kernel/index.ts';
import type { Limits } from '../../../providers/registry/index.ts';
import type { PostMedia } from '../row.ts';

/** A post as the presenters take it: its row, its channel's card and its tags. */
export interface PostRow {
  id: string;
  orgId: string;
  channelId: string;
  state: 'QUEUE' | 'PUBLISHED' | 'ERROR' | 'DRAFT';
  detail: string | null;
  errorKind: string | null;
  error: string | null;
  publishDate: Date;
  content: string;
  media: PostMedia[];
  delayMinutes: number;
  group: string;
  title: string | null;
  description: string | null;
  parentPostId: string | null;
  rootPostId: string | null;
  releaseId: string | null;
  releaseUrl: string | null;
  settings: Record<string, unknown>;
  creationMethod: string;
  version: number;
  publishedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | null;
  channelName: string;
  providerId: string;
  picture: string | null;
  tags: { id: string; name: string; color: string }[];
}

const shown = (sql: Sql) => sql`
  p.id, p.org_id as "orgId", p.channel_id as "channelId", p.state, p.detail, p.error_kind as "errorKind", p.error, p.publish_date as "publishDate", p.content, p.media, p.delay_minutes as "delayMinutes",
  p.group_id as "group", p.title, p.description, p.parent_post_id as "parentPostId", p.root_post_id as "rootPostId", p.release_id as "releaseId", p.release_url as "releaseUrl", p.settings,
  p.creation_method as "creationMethod", p.version, p.published_at as "publishedAt",
  p.created_at as "createdAt", p.updated_at as "updatedAt", p.deleted_at as "deletedAt", c.name as "channelName", c.provider_id as "providerId", c.picture,
  case when p.tag_ids = '{}' then '[]'::json else coalesce((
    select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name)) from tags t where t.org_id = p.org_id and t.id = any(p.tag_ids)), '[]') end as tags`;

/** A post and the items behind it, root first; or the item alone when an item is asked for. */
export const getPost = (sql: Sql, orgId: string, postId: string): Promise<PostRow[]> => sql<PostRow[]>`
  select ${shown(sql)} from posts p join channels c on c.id = p.channel_id and c.org_id = p.org_id
  where p.org_id = ${orgId} and (p.id = ${postId} or p.root_post_id = ${postId}) and p.deleted_at is null order by p.seq`;

export const getGroup = (sql: Sql, orgId: string, group: string): Promise<PostRow[]> => sql<PostRow[]>`
  select ${shown(sql)} from posts p join channels c on c.id = p.channel_id and c.org_id = p.org_id
  where p.org_id = ${orgId} and p.group_id = ${group} and p.deleted_at is null order by p.seq`;

export const STATES = { scheduled: 'QUEUE', draft: 'DRAFT', published: 'PUBLISHED', error: 'ERROR' } as const;
export interface ListFilter {
  from: Date;
  to: Date;
  customerId?: string | undefined;
  state?: string | undefined;
  /** So many at most; what follows is asked for by `after`. Absent: all of the range, or none (`MOST_LISTED`). */
  limit?: number | undefined;
  /** Where the part before ended. */
  after?: Place | undefined;
}
/** The place of a post in the order of dates: its date to the microsecond, as the database has it, and its number. */
export interface Place {
  at: string;
  seq: number;
}
export interface ListPart {
  posts: PostRow[];
  /** Where it ends, when more follows. */
  next?: Place | undefined;
}
/** A range that holds more is told only in parts. */
export const MOST_LISTED = 10_000;

/** Roots with a date in the range, in the order of their dates. */
export async function listPosts(sql: Sql, orgId: string, { from, to, customerId, state, after, limit = MOST_LISTED }: ListFilter): Promise<ListPart> {
  const rows = await sql<(PostRow & { at: string; seq: string })[]>`
  select ${shown(sql)}, to_char(p.publish_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as at, p.seq
  from posts p join channels c on c.id = p.channel_id and c.org_id = p.org_id
  where p.org_id = ${orgId} and p.root_post_id is null and p.deleted_at is null and p.publish_date >= ${from} and p.publish_date <= ${to}
    ${customerId === undefined ? sql`` : sql`and c.customer_id = ${customerId}`} ${state === undefined ? sql`` : sql`and p.state = ${state}`}
    ${after === undefined ? sql`` : sql`and (p.publish_date, p.seq) > ((${after.at} || 'Z')::timestamptz, ${after.seq}::bigint)`}
  order by p.publish_date, p.seq limit ${limit + 1}`;
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    posts: rows.slice(0, limit),
    next: last && { at: last.at, seq: Number(last.seq) },
  };
}

export interface PageFilter {
  page: number;
  limit: number;
  customerId?: string | undefined;
  state?: string | undefined;
}
/** Where a count of a list ends: it would cost as much as there are posts. */
const MOST_COUNTED = 10_000;
export interface Page {
  posts: PostRow[];
  /** How many there are, counted up to `MOST_COUNTED`. */
  total: number;
  hasMore: boolean;
}
/** One page of roots, the latest date first. What is skipped is read from the index alone. */
export async function page(sql: Sql, orgId: string, { page: number, limit, customerId, state }: PageFilter): Promise<Page> {
  const filter = sql`
    from posts p
    where p.org_id = ${orgId} and p.root_post_id is null and p.deleted_at is null
      ${customerId === undefined ? sql`` : sql`and p.channel_id in (select id from channels where org_id = ${orgId} and customer_id = ${customerId})`}
      ${state === undefined ? sql`` : sql`and p.state = ${state}`}`;
  const [rows, [count]] = await Promise.all([
    sql<PostRow[]>`
      select ${shown(sql)}
      from (select p.id ${filter} order by p.publish_date desc, p.seq desc limit ${limit + 1} offset ${number * limit}) i
      join posts p on p.id = i.id and p.org_id = ${orgId} join channels c on c.id = p.channel_id and c.org_id = p.org_id
      order by p.publish_date desc, p.seq desc`,
    sql<{ total: number }[]>`select count(*)::int as total from (select 1 ${filter} limit ${MOST_COUNTED}) counted`,
  ]);
  return { posts: rows.slice(0, limit), total: count!.total, hasMore: rows.length > limit };
}

export interface TimelineRow {
  at: Date;
  kind: string;
  message: string;
  data: unknown;
}
/** What happened to a post, oldest first; undefined when there is no such post. */
export async function timeline(sql: Sql, orgId: string, postId: string): Promise<TimelineRow[] | undefined> {
  const rows = await sql<(TimelineRow & { kind: string | null })[]>`
    select t.at, t.kind, t.message, t.data from posts p left join post_timeline t on t.post_id = p.id and t.org_id = p.org_id
    where p.org_id = ${orgId} and p.id = ${postId} and p.deleted_at is null order by t.id`;
  return rows.length === 0 ? undefined : rows.filter(({ kind }) => kind !== null);
}

/** A channel as creating a post sees it. */
export interface ChannelSummary {
  id: string;
  name: string;
  providerId: string;
  providerVersion: string;
  disabled: boolean;
  refreshNeeded: boolean;
  /** What its own server takes, where that has said so. */
  serverLimits: Pick<Limits, 'text' | 'linkLength' | 'media'> | null;
  /** Whether the org has links shortened (S209). */
  shortlink: 'ASK' | 'YES' | 'NO';
}
/** The cards of an org's channels. Questions of creates that meet share a statement. */
export const findChannelSummaries: (sql: Sql, asked: { orgId: string; ids: readonly string[] }) => Promise<ChannelSummary[]> = groupCommit(
  async (sql, asked) => {
    const wanted = new Map(asked.flatMap(({ orgId, ids }) => ids.map((id) => [tenantKey(orgId, id), { orgId, id }])));
    const rows = await sql<(ChannelSummary & { orgId: string })[]>`
    select c.id, c.org_id as "orgId", c.name, c.provider_id as "providerId", c.provider_version as "providerVersion", c.disabled, c.refresh_needed as "refreshNeeded",
      c.server_limits as "serverLimits", coalesce(o.settings->>'shortlink', 'ASK') as shortlink
    from unnest(${[...wanted.values()].map(({ orgId }) => orgId)}::uuid[], ${[...wanted.values()].map(({ id }) => id)}::uuid[]) as wanted (org_id, id)
    join channels c on c.id = wanted.id and c.org_id = wanted.org_id join organizations o on o.id = c.org_id
    where c.deleted_at is null`;
    const found = new Map(rows.map(({ orgId, ...card }) => [tenantKey(orgId, card.id), card]));
    return asked.map(({ orgId, ids }) => ids.flatMap((id) => found.get(tenantKey(orgId, id)) ?? []));
  },
);

/** Posts of the org that a body names. */
export interface Existing {
  id: string;
  channelId: string;
  rootPostId: string | null;
  state: string;
  detail: string | null;
}
export const existing = (sql: Sql, orgId: string, ids: readonly string[]): Promise<Existing[]> => sql<Existing[]>`
  select id, channel_id as "channelId", root_post_id as "rootPostId", state, detail from posts where org_id = ${orgId} and id = any(${[...ids]}::uuid[]) and deleted_at is null`;

/** Those of the posts that are there, deleted or not. Each is looked up by its key: the planner would rather read all posts of the org. */
export async function knownPosts(sql: Sql, orgId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select wanted.id from unnest(${[...ids]}::uuid[]) as wanted (id) where (select p.org_id from posts p where p.id = wanted.id) = ${orgId}`;
  return rows.map(({ id }) => id);
}

/** The tags of these names, made where they are missing. Answers ids in the order of the names. */
export async function ensureTags(sql: Sql, orgId: string, tags: readonly { id: string; name: string; color?: string | undefined }[]): Promise<string[]> {
  const rows = await sql<{ id: string; name: string }[]>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(tags)}::text::json) as t (id uuid, name text, color text)
    ), made as (
      insert into tags (id, org_id, name, color) select id, ${orgId}, name, coalesce(color, '#612AD5') from wanted
      on conflict (org_id, lower(name)) do update set name = tags.name
      returning id, name
    )
    select id, name from made`;
  const ids = new Map(rows.map(({ id, name }) => [name.toLowerCase(), id]));
  return [...new Set(tags.map(({ name }) => ids.get(name.toLowerCase())!))];
}

/** Posting times, in minutes after midnight, of the channels that can be posted to, and the zone they are meant in. */
export async function postingTimes(sql: Sql, orgId: string, channelId?: string): Promise<{ timezone: string; minutes: number[] } | undefined> {
  const [row] = await sql<{ timezone: string; minutes: number[] | null }[]>`
    select o.timezone, (
      select array_agg(distinct m order by m) from channels c, unnest(c.posting_times) m
      where c.org_id = o.id and c.deleted_at is null and ${channelId === undefined ? sql`not c.disabled` : sql`c.id = ${channelId}`}
    ) as minutes from organizations o where o.id = ${orgId}`;
  return row?.minutes ? { timezone: row.timezone, minutes: row.minutes } : undefined;
}

/** Who made a post; undefined when it is not there. */
export async function authorOf(sql: Sql, orgId: string, postId: string): Promise<string | null | undefined> {
  const [row] = await sql<
    { createdBy: string | null }[]
  >`select created_by as "createdBy" from posts where org_id = ${orgId} and id = ${postId} and deleted_at is null`;
  return row?.createdBy;
}

/** Whether the channel is one of the org's. */
export const channelExists = async (sql: Sql, orgId: string, channelId: string): Promise<boolean> =>
  (await sql`select 1 from channels where org_id = ${orgId} and id = ${channelId} and deleted_at is null`).length > 0;

/** Those of the minutes that no post of the channel, or of the org, has taken: one look at the index for each. */
export async function freeMinutes(sql: Sql, orgId: string, minutes: readonly Date[], channelId?: string): Promise<Date[]> {
  const rows = await sql<{ at: Date }[]>`
    select m.at from unnest(${minutes.map((at) => at.toISOString())}::timestamptz[]) as m (at)
    where not exists (
      select 1 from posts p
      where p.org_id = ${orgId} and p.root_post_id is null and p.deleted_at is null and p.publish_date >= m.at and p.publish_date < m.at + interval '1 minute'
        ${channelId === undefined ? sql`` : sql`and p.channel_id = ${channelId}`}
      order by p.publish_date limit 1
    )
    order by m.at`;
  return rows.map(({ at }) => at);
}
