import type { Sql } from '../../platform/db/index.ts';
import type { Pin } from './storages.ts';

/** An object that is to go. */
export interface PendingDeletion extends Pin {
  orgId: string;
  storageKey: string;
  tries: number;
}

/** Written before the bytes are: what no file names by then is taken away after a day. */
export const expectObjects = (
  sql: Sql,
  orgId: string,
  keys: readonly string[],
  { storageId, storageSettingId, ownStorage }: Pin,
) => sql`
  insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
  select key, ${orgId}::uuid, ${storageId}::text, ${storageSettingId}::uuid, ${ownStorage}::boolean,
    now() + interval '1 day'
  from unnest(${[...keys]}::text[]) key`;

/** A file has them, or they are gone. */
export const confirmObjects = (sql: Sql, keys: readonly string[]) =>
  sql`
    delete from media_pending_deletions
    where storage_key = any(${[...keys]})`; // keys belong to one org each, and nobody says them twice

/**
 * Those of the keys that no file has, for certain: a commit that is still under way is waited for. They come due like
 * all others.
 */
export async function reclaimObjects(sql: Sql, keys: readonly string[]): Promise<string[]> {
  const rows = await sql<{ storageKey: string }[]>`
    update media_pending_deletions
    set due_at = now()
    where storage_key = any(${[...keys]})
    returning storage_key as "storageKey"`;
  return rows.map(({ storageKey }) => storageKey);
}

/** What is due, held back for an hour: what still cannot be removed then is tried again ever later. */
export const claimDueDeletions = (sql: Sql, limit: number): Promise<PendingDeletion[]> => sql<PendingDeletion[]>`
  update media_pending_deletions
  set tries = tries + 1, due_at = now() + interval '1 hour' * power(2, least(tries, 7))
  where storage_key in (
    select storage_key
    from media_pending_deletions
    where due_at <= now()
    order by due_at
    limit ${limit}
    for update skip locked
  ) returning storage_key as "storageKey", org_id as "orgId", tries, ${pinOfPending(sql)}`;

const pinOfPending = (sql: Sql) =>
  sql`
    storage_id as "storageId", '' as "storageVersion", storage_setting_id as "storageSettingId",
    own_storage as "ownStorage"`;
