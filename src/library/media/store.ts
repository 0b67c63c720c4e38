import { type Fragment, retentionRule, type Sql } from '../../platform/db/index.ts';
import { announce } from '../../platform/outbox/index.ts';
import type { Attribution } from './attribution.ts';
import type { Generated } from './generated.ts';
import type { MediaKind } from '../../providers/registry/index.ts';
import type { Pin } from './storages.ts';

/** A row of `files`. */
export interface FileRow extends Pin {
  id: string;
  orgId: string;
  name: string;
  originalName: string;
  storageKey: string;
  thumbnailKey: string | null;
  /** The moment of a film that a person chose as its cover, in ms. */
  thumbnailTimestampMs: number | null;
  alt: string;
  kind: MediaKind;
  mime: string;
  bytes: number;
  width: number | null;
  height: number | null;
  durationMs: number | null;
  codecs: readonly string[];
  folder: string | null;
  attribution: Attribution | null;
  generated: Generated | null;
  createdAt: Date;
  updatedAt: Date;
}
export interface NewFile extends Omit<FileRow, 'thumbnailTimestampMs' | 'createdAt' | 'updatedAt'> {
  /** False: kept for a post, and not shown in the library. */
  listed: boolean;
  /** The user; null for what the service keeps for itself. */
  createdBy: string | null;
  /** Where a copy was fetched from. */
  sourceUrl: string | null;
  /** The upload in parts that it was made of. */
  uploadId: string | null;
  /** The file that a changed one was made of. */
  derivedFrom?: string | undefined;
}

export const pin = (sql: Sql): Fragment => sql`
  storage_id as "storageId", storage_version as "storageVersion", storage_setting_id as "storageSettingId",
  own_storage as "ownStorage"`;
const columns = (sql: Sql): Fragment => sql`
  id, org_id as "orgId", name, original_name as "originalName", storage_key as "storageKey",
  thumbnail_key as "thumbnailKey", thumbnail_timestamp_ms as "thumbnailTimestampMs", alt, kind, mime,
  bytes::float8 as bytes, width, height, duration_ms as "durationMs", codecs, folder, attribution, generated, ${pin(sql)},
  created_at as "createdAt", updated_at as "updatedAt"`;

export async function insertFile(sql: Sql, file: NewFile): Promise<FileRow> {
  const [row] = await sql<FileRow[]>`
    insert into files (id, org_id, name, original_name, storage_id, storage_version, storage_setting_id, own_storage,
      storage_key, thumbnail_key, alt, kind, mime,
      bytes, width, height, duration_ms, codecs, folder, listed, created_by, source_url, upload_id, attribution,
      generated, derived_from)
    values (${file.id}, ${file.orgId}, ${file.name}, ${file.originalName}, ${file.storageId}, ${file.storageVersion},
      ${file.storageSettingId}, ${file.ownStorage},
      ${file.storageKey}, ${file.thumbnailKey}, ${file.alt}, ${file.kind}, ${file.mime}, ${file.bytes}, ${file.width},
      ${file.height}, ${file.durationMs},
      ${[...file.codecs]}, ${file.folder}, ${file.listed}, ${file.createdBy}, ${file.sourceUrl}, ${file.uploadId},
      ${file.attribution && sql.json(file.attribution)}, ${file.generated && sql.json(file.generated)},
      ${file.derivedFrom ?? null})
    returning ${columns(sql)}`;
  return row!;
}

/** Who made a file; undefined when it is not there. */
export async function fileAuthor(sql: Sql, orgId: string, id: string): Promise<string | null | undefined> {
  const [row] = await sql<
    { createdBy: string | null }[]
  >`select created_by as "createdBy" from files where org_id = ${orgId} and id = ${id} and deleted_at is null`;
  return row?.createdBy;
}

/** The file that was made of an item of a stock source. */
export async function fileOfItem(
  sql: Sql,
  orgId: string,
  { provider, itemId }: Pick<Attribution, 'provider' | 'itemId'>,
): Promise<FileRow | undefined> {
  const [row] = await sql<FileRow[]>`
    select ${columns(sql)}
    from files
    where org_id = ${orgId}
      and attribution->>'provider' = ${provider}
      and attribution->>'itemId' = ${itemId}
      and attribution is not null
      and deleted_at is null
      and derived_from is null`;
  return row;
}

/**
 * Those of the files that a post may still publish: what was deleted while no queued post needed it stays good for one
 * that began to since.
 */
export const usableFiles = (
  sql: Sql,
  orgId: string,
  ids: readonly string[],
  keys: readonly string[],
): Promise<FileRow[]> =>
  sql<FileRow[]>`
    select ${columns(sql)}
    from files
    where org_id = ${orgId} and (id = any(${[...ids]}::uuid[]) or storage_key = any(${[...keys]})) and not withdrawn`;

/** Those that a post may be given. */
export const presentFiles: typeof usableFiles = (sql, orgId, ids, keys) =>
  sql<FileRow[]>`
    select ${columns(sql)}
    from files
    where org_id = ${orgId}
      and (id = any(${[...ids]}::uuid[]) or storage_key = any(${[...keys]}))
      and deleted_at is null`;

/**
 * Those whose pictures a post may show: a thumbnail that was made of a file, or a picture. The pictures come first: one
 * may lie in another storage than the film that it is the cover of.
 */
export const filesOfThumbnails = (sql: Sql, orgId: string, keys: readonly string[]): Promise<FileRow[]> =>
  sql<FileRow[]>`
    select ${columns(sql)}
    from files
    where org_id = ${orgId} and (storage_key = any(${[...keys]}) or thumbnail_key = any(${[...keys]}))
      and not withdrawn
    order by storage_key = any(${[...keys]}) desc`;

/** A queued post that may name files: the words of the index `posts_queued_with_files`. */
export const queuedWithFiles = (sql: Sql, alias = 'p'): Fragment => sql`
  (${sql(alias)}.state = 'QUEUE' and ${sql(alias)}.deleted_at is null and (${sql(alias)}.media <> '[]'
    or ${sql(alias)}.settings @? '$.* ? (@ starts with "http" || @.path starts with "http")'))`;

/**
 * Whether the text `names` names the file `f`: by its id, by its address or by that of its thumbnail, each of which is
 * random and stands in no other text.
 */
const isNamed = (sql: Sql, names: Fragment): Fragment => sql`(
  strpos(${names}, f.id::text) > 0
  or strpos(${names}, f.storage_key) > 0
  or coalesce(strpos(${names}, f.thumbnail_key) > 0, false)
)`;

/**
 * Whether a queued post needs the file `f`, as media, as the picture of a video or in its settings, or a channel, in
 * the settings that its posts begin with.
 */
const isUsed = (sql: Sql): Fragment => sql`(
  exists (
    select
    from posts p
    cross join lateral (select p.media::text || p.settings::text as names) n
    where p.org_id = f.org_id
      and ${queuedWithFiles(sql)}
      and ${isNamed(sql, sql`n.names`)}
  )
  or exists (
    select
    from channels c
    where c.org_id = f.org_id
      and c.deleted_at is null
      and ${isNamed(sql, sql`c.settings::text`)}
  )
)`;

/**
 * Where the object of a key lies, and its shown name; a thumbnail lies with its picture. A deleted one is there while a
 * queued post may still publish it: networks fetch it, and while it is the cover of a film, which may lie in another
 * storage. Undefined: nobody has it any more.
 */
export async function objectOfKey(sql: Sql, key: string): Promise<(Pin & { orgId: string; name: string }) | undefined> {
  const [row] = await sql<(Pin & { orgId: string; name: string })[]>`
    select f.org_id as "orgId", f.name, ${pin(sql)}
    from files f /* all orgs: the key is the credential */
    where (f.storage_key = ${key} or f.thumbnail_key = ${key})
      and (f.deleted_at is null or not f.withdrawn and ${isUsed(sql)} or f.storage_key = ${key} and exists (
        select
        from files v
        where v.org_id = f.org_id
          and v.thumbnail_key = ${key}
          and v.deleted_at is null
      ))
    order by f.storage_key = ${key} desc
    limit 1`;
  return row;
}

/**
 * Shows an object that was uploaded without being shown, under this name; one that is shown keeps the name it has.
 * Undefined: there is none.
 */
export async function listFile(
  sql: Sql,
  orgId: string,
  key: string,
  originalName: string | undefined,
): Promise<FileRow | undefined> {
  const named = sql`,
      original_name = case when listed then original_name else ${originalName ?? null} end,
      name = case when listed then name else ${originalName ?? null} end`;
  const [row] = await sql<FileRow[]>`
    update files
    set listed = true, updated_at = now() ${originalName === undefined ? sql`` : named}
    where org_id = ${orgId} and storage_key = ${key} and source_url is null and deleted_at is null
    returning ${columns(sql)}`;
  return row;
}

/** Bytes of an organization that lie in the local storage. */
export async function localBytes(sql: Sql, orgId: string): Promise<number> {
  const [row] = await sql<
    { bytes: number }[]
  >`select local_bytes::float8 as bytes from org_counters where org_id = ${orgId}`;
  return row?.bytes ?? 0;
}

/** Announces that an organization is over the soft quota, unless it was announced on this day. */
export const announceOverQuota = (sql: Sql, orgId: string, of: { bytes: number; quotaBytes: number }) => sql`
  with told as (
    update org_counters
    set soft_quota_told_on = (now() at time zone 'UTC')::date
    where org_id = ${orgId}
      and soft_quota_told_on is distinct from (now() at time zone 'UTC')::date
    returning org_id, org_id as id
  ), ${announce(sql, {
    'storage.over_quota': {
      from: sql`told`,
      payload: { bytes: sql`${of.bytes}::float8`, quotaBytes: sql`${of.quotaBytes}::float8` },
    },
  })}
  select from told`;

/** Whether nobody else takes this item into the library of the org; the claim ends by itself after `forMs`. */
export async function claimItem(
  sql: Sql,
  orgId: string,
  { provider, itemId }: Pick<Attribution, 'provider' | 'itemId'>,
  forMs: number,
): Promise<boolean> {
  const claimed = await sql`
    insert into stock_claims (org_id, provider, item_id, held_until)
    values (${orgId}, ${provider}, ${itemId}, now() + ${forMs}::float8 * interval '1 ms')
    on conflict (org_id, provider, item_id) do update
    set held_until = excluded.held_until
    where stock_claims.held_until < now()`;
  return claimed.count === 1;
}
/** Ends a claim, and what those left behind in the org that were cut off. */
export const releaseItem = (sql: Sql, orgId: string, { provider, itemId }: Pick<Attribution, 'provider' | 'itemId'>) =>
  sql`
    delete from stock_claims
    where org_id = ${orgId} and ((provider = ${provider} and item_id = ${itemId}) or held_until < now())`;

/** Those of the files that are there, by id; deleted ones are not. */
export const filesById = (sql: Sql, orgId: string, ids: readonly string[]): Promise<FileRow[]> =>
  sql<
    FileRow[]
  >`select ${columns(sql)} from files where org_id = ${orgId} and id = any(${[...ids]}::uuid[]) and deleted_at is null`;

export const filesByKey = (sql: Sql, orgId: string, keys: readonly string[]): Promise<FileRow[]> =>
  sql<FileRow[]>`
    select ${columns(sql)}
    from files
    where org_id = ${orgId} and storage_key = any(${[...keys]}) and deleted_at is null`;

/** The file that an upload in parts has become. */
export async function fileOfUpload(
  sql: Sql,
  orgId: string,
  uploadId: string,
): Promise<{ file: FileRow; isDeleted: boolean } | undefined> {
  const [row] = await sql<(FileRow & { isDeleted: boolean })[]>`
    select ${columns(sql)}, deleted_at is not null as "isDeleted"
    from files
    where org_id = ${orgId} and upload_id = ${uploadId}`;
  if (!row) return undefined;
  const { isDeleted, ...file } = row;
  return { file, isDeleted };
}

/** The copy of an outside address that was fetched at most `maxAgeMs` ago. */
export async function freshCopy(sql: Sql, orgId: string, url: string, maxAgeMs: number): Promise<FileRow | undefined> {
  const [row] = await sql<FileRow[]>`
    select ${columns(sql)}
    from files
    where org_id = ${orgId}
      and source_url = ${url}
      and not listed
      and deleted_at is null
      and created_at > now() - ${maxAgeMs}::float8 * interval '1 ms'
    order by created_at desc
    limit 1`;
  return row;
}

export interface FileFilter {
  search: string | undefined;
  kind: MediaKind | undefined;
  folder: string | undefined;
}

/** One page of the library, newest first, with the number of files that match. */
export async function listFiles(
  sql: Sql,
  orgId: string,
  filter: FileFilter,
  page: { limit: number; offset: number },
): Promise<{ files: FileRow[]; total: number }> {
  const { kind, folder, search } = filter;
  const found = (text: string) => sql`
      and (strpos(lower(name), lower(${text})) > 0 or strpos(lower(alt), lower(${text})) > 0)`;
  const where = sql`
    where org_id = ${orgId}
      and deleted_at is null
      and listed
      ${kind === undefined ? sql`` : sql`and kind = ${kind}`}
      ${folder === undefined ? sql`` : sql`and folder = ${folder}`}
      ${search === undefined ? sql`` : found(search)}`;
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from files ${where}`;
  const files = await sql<FileRow[]>`
    select ${columns(sql)}
    from files ${where}
    order by created_at desc, id desc
    limit ${page.limit}
    offset ${page.offset}`;
  return { files, total: counted!.total };
}

export interface FileChange {
  name?: string | undefined;
  alt?: string | undefined;
  folder?: string | null | undefined;
  thumbnailKey?: string | null | undefined;
  thumbnailTimestampMs?: number | undefined;
}

/** The changed file; undefined: there is none. */
export async function updateFile(
  sql: Sql,
  orgId: string,
  id: string,
  change: FileChange,
): Promise<FileRow | undefined> {
  const [row] = await sql<FileRow[]>`
    update files
    set name = ${change.name === undefined ? sql`name` : change.name},
      alt = ${change.alt === undefined ? sql`alt` : change.alt},
      folder = ${change.folder === undefined ? sql`folder` : change.folder},
      thumbnail_key = ${change.thumbnailKey === undefined ? sql`thumbnail_key` : change.thumbnailKey},
      thumbnail_timestamp_ms = ${
        change.thumbnailTimestampMs === undefined ? sql`thumbnail_timestamp_ms` : change.thumbnailTimestampMs
      },
      updated_at = now()
    where org_id = ${orgId} and id = ${id} and deleted_at is null
    returning ${columns(sql)}`;
  return row;
}

/**
 * Marks a file deleted, unless a queued post needs it and `force` is not given: then it is withdrawn from that post,
 * too.
 */
export async function deleteFile(
  sql: Sql,
  orgId: string,
  id: string,
  force: boolean,
): Promise<'deleted' | 'used' | 'missing'> {
  const [row] = await sql<{ deleted: boolean }[]>`
    with found as (
      select id, org_id, storage_key, thumbnail_key
      from files
      where org_id = ${orgId} and id = ${id} and deleted_at is null
      for update
    ), gone as (
      update files
      set deleted_at = now(), updated_at = now(), withdrawn = ${force}
      where org_id = ${orgId} and id in (select id from found f where ${force} or not ${isUsed(sql)})
      returning id
    )
    select exists (select from gone) as deleted
    from found`;
  if (!row) return 'missing';
  return row.deleted ? 'deleted' : 'used';
}

/** How much an org has of copies of outside media; `hold`: nobody else adds one until the transaction ends. */
export async function copiesOf(sql: Sql, orgId: string, hold?: 'hold'): Promise<{ files: number; bytes: number }> {
  if (hold) await sql`select from organizations where id = ${orgId} for no key update`;
  const [row] = await sql<{ files: number; bytes: number }[]>`
    select count(*)::int as files, coalesce(sum(bytes), 0)::float8 as bytes from files
    where org_id = ${orgId} and source_url is not null and not listed and deleted_at is null`;
  return row!;
}

/** How the source of a copy begins that was made of a file of the library; a network may fetch it for two hours. */
export const MADE_OF = 'made-of:';

/**
 * Forgets the copies of an org that no post needs which is under way, or falls due within `soonMs`, itself or by the
 * settings of its channel; answers their objects.
 */
export const dropUnneededCopies = (
  sql: Sql,
  orgId: string,
  soonMs: number,
): Promise<(Pin & { storageKey: string })[]> =>
  sql<(Pin & { storageKey: string })[]>`
    delete from files f
    where f.org_id = ${orgId} and f.source_url is not null and not f.listed
      and not (f.source_url like ${`${MADE_OF}%`} and f.created_at > now() - interval '2 hours')
      and not exists (
      select
      from posts p
      cross join lateral (select jsonb_build_object('url', f.source_url) as names) n
      where p.org_id = f.org_id
        and ${queuedWithFiles(sql)}
        and (p.due_at is null or p.due_at < now() + ${soonMs}::float8 * interval '1 ms')
        and (jsonb_path_exists(p.media, '$[*].* ? (@ == $url)', n.names)
          or jsonb_path_exists(p.settings, '$.* ? (@ == $url || @.path == $url)', n.names)))
      and not exists (
      select
      from channels c
      join posts p on p.channel_id = c.id and p.org_id = c.org_id
      where c.org_id = f.org_id
        and c.deleted_at is null
        and jsonb_path_exists(c.settings, '$.* ? (@ == $url || @.path == $url)',
          jsonb_build_object('url', f.source_url))
        and p.state = 'QUEUE'
        and p.deleted_at is null
        and (p.due_at is null or p.due_at < now() + ${soonMs}::float8 * interval '1 ms'))
    returning storage_key as "storageKey", ${pin(sql)}`;

/** Forgets up to `limit` copies of outside media that were fetched more than `maxAgeMs` ago; answers how many. */
export const dropOldCopies = async (sql: Sql, maxAgeMs: number, limit: number): Promise<number> =>
  (
    await sql`
      delete from files
      where id in (
        select f.id
        from files f /* all orgs */
        where not f.listed and f.source_url is not null and f.created_at < now() - ${maxAgeMs}::float8 * interval '1 ms'
        order by f.created_at
        limit ${limit}
        for update
        skip locked
      )`
  ).count;

/** Nobody will need the deleted file `f` any more. */
const isUnused = (sql: Sql): Fragment => sql`(f.withdrawn or not ${isUsed(sql)})`;
export const filesRetention = retentionRule(
  'SOFT_DELETE_RETENTION_DAYS', // RT9
  ['media'],
  (sql, { days }) => sql`
    select f.deleted_at as at
    from files f
    where f.deleted_at < now() - ${days}::int * interval '1 day'
      and ${isUnused(sql)}`,
);

/**
 * Forgets up to `limit` files that were deleted more than `days` ago and that no queued post needs; answers how many
 * (RT9).
 */
export const dropDeletedFiles = async (sql: Sql, days: number, limit: number): Promise<number> =>
  (
    await sql`
      delete from files
      where id in (
        select f.id
        from files f /* all orgs */
        where f.deleted_at < now() - ${days}::int * interval '1 day'
          and ${isUnused(sql)}
        order by f.deleted_at
        limit ${limit}
        for update
        skip locked
      )`
  ).count;
