import { retentionRule, oldRows, type Sql } from '../../../platform/db/index.ts';
import { reclaimObjects } from '../pending-deletions-store.ts';
import { pin } from '../store.ts';
import type { Pin } from '../storages.ts';

/** An upload that comes in parts (`media_uploads`). */
export interface UploadRow extends Pin {
  id: string;
  orgId: string;
  createdBy: string;
  name: string;
  fileHash: string | null;
  bytes: number;
  mime: string;
  storageKey: string;
  /** At the storage. */
  providerUploadId: string;
}

const columns = (sql: Sql) => sql`
  id, org_id as "orgId", created_by as "createdBy", name, file_hash as "fileHash", bytes::float8 as bytes, mime,
  ${pin(sql)},
  storage_key as "storageKey", provider_upload_id as "providerUploadId"`;

export const insertUpload = (sql: Sql, row: UploadRow) => sql`
  insert into media_uploads (id, org_id, created_by, name, file_hash, bytes, mime, storage_id, storage_version,
    storage_setting_id, own_storage, storage_key, provider_upload_id)
  values (${row.id}, ${row.orgId}, ${row.createdBy}, ${row.name}, ${row.fileHash}, ${row.bytes}, ${row.mime},
    ${row.storageId}, ${row.storageVersion},
    ${row.storageSettingId}, ${row.ownStorage}, ${row.storageKey}, ${row.providerUploadId})`;

/**
 * How many uploads of an org are open, and the bytes that they were announced with, but for those that go to a storage
 * of its own.
 */
export async function openUploadsOf(sql: Sql, orgId: string): Promise<{ n: number; bytes: number }> {
  const [row] = await sql<{ n: number; bytes: number }[]>`
    select count(*)::int as n, coalesce(sum(bytes) filter (where not own_storage), 0)::float8 as bytes
    from media_uploads
    where org_id = ${orgId}`;
  return row!;
}

/** The bytes that open uploads of an org were announced with, but for this one: they count as if they were there. */
export async function bytesAnnounced(sql: Sql, orgId: string, except: string | null): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select coalesce(sum(bytes), 0)::float8 as bytes
    from media_uploads
    where org_id = ${orgId} and not own_storage and id is distinct from ${except}`;
  return row!.bytes;
}

/** Nobody else begins an upload of the org until the transaction ends. */
export const lockUploads = (sql: Sql, orgId: string) =>
  sql`select from organizations where id = ${orgId} for no key update`;

export async function findUpload(sql: Sql, orgId: string, id: string, key: string): Promise<UploadRow | undefined> {
  const [row] = await sql<
    UploadRow[]
  >`select ${columns(sql)} from media_uploads where id = ${id} and org_id = ${orgId} and storage_key = ${key}`;
  return row;
}

/** For a part whose address was signed: the signature is the credential. */
export async function uploadOfPart(sql: Sql, id: string): Promise<UploadRow | undefined> {
  const [row] = await sql<UploadRow[]>`
    select ${columns(sql)}
    from media_uploads /* all orgs */
    where id = ${id} and (held_until is null or held_until < now())`;
  return row;
}

/** The upload that the same person began with the same file, to the same storage. */
export async function uploadOfFile(
  sql: Sql,
  {
    orgId,
    createdBy,
    fileHash,
    name,
    bytes,
    storageSettingId,
  }: Pick<UploadRow, 'orgId' | 'createdBy' | 'fileHash' | 'name' | 'bytes' | 'storageSettingId'>,
) {
  const [row] = await sql<UploadRow[]>`
    select ${columns(sql)}
    from media_uploads
    where org_id = ${orgId}
      and created_by = ${createdBy}
      and file_hash = ${fileHash}
      and name = ${name}
      and bytes = ${bytes}
      and storage_setting_id is not distinct from ${storageSettingId} and (held_until is null or held_until < now())
    order by created_at desc
    limit 1`;
  return row;
}

/**
 * Claims an upload for who completes it or gives it up; undefined: somebody else does, or there is none. A claim that
 * its process left behind ends by itself.
 */
export async function claimUpload(
  sql: Sql,
  orgId: string,
  id: string,
  key: string,
  forMs: number,
): Promise<UploadRow | undefined> {
  const [row] = await sql<UploadRow[]>`
    update media_uploads
    set held_until = now() + ${forMs}::float8 * interval '1 ms'
    where id = ${id} and org_id = ${orgId} and storage_key = ${key} and (held_until is null or held_until < now())
    returning ${columns(sql)}`;
  return row;
}

export const releaseUpload = (sql: Sql, orgId: string, id: string) =>
  sql`update media_uploads set held_until = null where id = ${id} and org_id = ${orgId}`;

/**
 * Deletes the row of an upload, whose object is left to the sweep unless a file has it (a trigger); false: it has become
 * a file already, or was given up. For the holder of its claim, behind whom no object comes any more.
 */
export async function dropUpload(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const [row] = await sql<{ storageKey: string }[]>`
    delete from media_uploads
    where id = ${id} and org_id = ${orgId}
    returning storage_key as "storageKey"`;
  if (row) await reclaimObjects(sql, [row.storageKey]);
  return row !== undefined;
}

/** Those of the ids, as storages have them, that a row names. */
export async function namedUploads(sql: Sql, providerIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }[]>`
    select provider_upload_id as id
    from media_uploads /* all orgs */
    where provider_upload_id = any(${[...providerIds]})`;
  return new Set(rows.map(({ id }) => id));
}

export const uploadsRetention = retentionRule(
  'MULTIPART_UPLOAD_RETENTION_DAYS', // RT8
  ['media'],
  oldRows('media_uploads', 'created_at').due,
);

/** Claims up to `limit` uploads that were begun more than `days` ago, for an hour (RT8). */
export const claimAbandoned = (sql: Sql, days: number, limit: number): Promise<UploadRow[]> => sql<UploadRow[]>`
  update media_uploads
  set held_until = now() + interval '1 hour'
  where id in (
    select id
    from media_uploads /* all orgs */
    where created_at < now() - ${days}::int * interval '1 day' and (held_until is null or held_until < now())
    order by created_at
    limit ${limit}
    for update
    skip locked
  ) returning ${columns(sql)}`;
