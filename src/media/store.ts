import type { Sql } from '../db/index.ts';
import type { Kind } from './rules.ts';

/** A row of `files`. */
export interface FileRow {
  id: string;
  orgId: string;
  name: string;
  originalName: string;
  storageKey: string;
  thumbnailKey: string | null;
  alt: string;
  kind: Kind;
  mime: string;
  bytes: number;
  width: number | null;
  height: number | null;
  durationMs: number | null;
  folder: string | null;
  createdAt: Date;
  updatedAt: Date;
}
export interface NewFile extends Omit<FileRow, 'createdAt' | 'updatedAt' | 'durationMs'> {
  storageId: string;
  storageVersion: string;
  /** False: kept for a post, and not shown in the library. */
  listed: boolean;
  /** Where a copy was fetched from. */
  sourceUrl: string | null;
}

const columns = (sql: Sql) => sql`
  id, org_id as "orgId", name, original_name as "originalName", storage_key as "storageKey", thumbnail_key as "thumbnailKey", alt, kind, mime,
  bytes::float8 as bytes, width, height, duration_ms as "durationMs", folder, created_at as "createdAt", updated_at as "updatedAt"`;

export async function insertFile(sql: Sql, file: NewFile): Promise<FileRow> {
  const [row] = await sql<FileRow[]>`
    insert into files (id, org_id, name, original_name, storage_id, storage_version, storage_key, thumbnail_key, alt, kind, mime, bytes, width, height, folder, listed, source_url)
    values (${file.id}, ${file.orgId}, ${file.name}, ${file.originalName}, ${file.storageId}, ${file.storageVersion}, ${file.storageKey}, ${file.thumbnailKey},
      ${file.alt}, ${file.kind}, ${file.mime}, ${file.bytes}, ${file.width}, ${file.height}, ${file.folder}, ${file.listed}, ${file.sourceUrl})
    returning ${columns(sql)}`;
  return row!;
}

/** Those of the files that are there, by id; deleted ones are not. */
export const filesById = (sql: Sql, orgId: string, ids: readonly string[]): Promise<FileRow[]> =>
  sql<FileRow[]>`select ${columns(sql)} from files where org_id = ${orgId} and id = any(${[...ids]}::uuid[]) and deleted_at is null`;

export const filesByKey = (sql: Sql, orgId: string, keys: readonly string[]): Promise<FileRow[]> =>
  sql<FileRow[]>`select ${columns(sql)} from files where org_id = ${orgId} and storage_key = any(${[...keys]}) and deleted_at is null`;

/** The copy of an outside address that was fetched at most `maxAgeMs` ago. */
export async function freshCopy(sql: Sql, orgId: string, url: string, maxAgeMs: number): Promise<FileRow | undefined> {
  const [row] = await sql<FileRow[]>`
    select ${columns(sql)} from files
    where org_id = ${orgId} and source_url = ${url} and not listed and deleted_at is null and created_at > now() - ${maxAgeMs}::float8 * interval '1 ms'
    order by created_at desc limit 1`;
  return row;
}

export interface Filter {
  search: string | undefined;
  kind: Kind | undefined;
  folder: string | undefined;
}

/** One page of the library, newest first, with the number of files that match. */
export async function listFiles(
  sql: Sql,
  orgId: string,
  filter: Filter,
  page: { limit: number; offset: number },
): Promise<{ files: FileRow[]; total: number }> {
  const where = sql`
    where org_id = ${orgId} and deleted_at is null and listed
      ${filter.kind === undefined ? sql`` : sql`and kind = ${filter.kind}`}
      ${filter.folder === undefined ? sql`` : sql`and folder = ${filter.folder}`}
      ${filter.search === undefined ? sql`` : sql`and (strpos(lower(name), lower(${filter.search})) > 0 or strpos(lower(alt), lower(${filter.search})) > 0)`}`;
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from files ${where}`;
  const files = await sql<FileRow[]>`select ${columns(sql)} from files ${where} order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`;
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
export async function updateFile(sql: Sql, orgId: string, id: string, change: FileChange): Promise<FileRow | undefined> {
  const [row] = await sql<FileRow[]>`
    update files set
      name = ${change.name === undefined ? sql`name` : change.name},
      alt = ${change.alt === undefined ? sql`alt` : change.alt},
      folder = ${change.folder === undefined ? sql`folder` : change.folder},
      thumbnail_key = ${change.thumbnailKey === undefined ? sql`thumbnail_key` : change.thumbnailKey},
      thumbnail_timestamp_ms = ${change.thumbnailTimestampMs === undefined ? sql`thumbnail_timestamp_ms` : change.thumbnailTimestampMs},
      updated_at = now()
    where org_id = ${orgId} and id = ${id} and deleted_at is null
    returning ${columns(sql)}`;
  return row;
}

/** Marks a file deleted, unless a queued post needs it, by id or by its address below `backendUrl`, and `force` is not given. */
export async function deleteFile(sql: Sql, orgId: string, id: string, force: boolean, backendUrl: string): Promise<'deleted' | 'used' | 'missing'> {
  const [row] = await sql<{ deleted: boolean }[]>`
    with found as (
      select id, storage_key from files where org_id = ${orgId} and id = ${id} and deleted_at is null for update
    ), used as (
      select 1 from posts p, found f
      where p.org_id = ${orgId} and p.state = 'QUEUE' and p.deleted_at is null
        and (p.media @> jsonb_build_array(jsonb_build_object('id', f.id::text)) or p.media @> jsonb_build_array(jsonb_build_object('path', ${`${backendUrl}/uploads/`}::text || f.storage_key)))
      limit 1
    ), gone as (
      update files set deleted_at = now(), updated_at = now() where org_id = ${orgId} and id in (select id from found) and (${force} or not exists (select from used)) returning id
    )
    select exists (select from gone) as deleted from found`;
  if (!row) return 'missing';
  return row.deleted ? 'deleted' : 'used';
}

/** Forgets up to `limit` copies of outside media that were fetched more than `maxAgeMs` ago; answers their keys. */
export const takeOldCopies = (sql: Sql, maxAgeMs: number, limit: number): Promise<{ storageKey: string }[]> =>
  sql<{ storageKey: string }[]>`
    delete from files where id in (
      select f.id from files f /* all orgs */
      where not f.listed and f.source_url is not null and f.created_at < now() - ${maxAgeMs}::float8 * interval '1 ms'
      order by f.created_at limit ${limit} for update skip locked
    ) returning storage_key as "storageKey"`;
