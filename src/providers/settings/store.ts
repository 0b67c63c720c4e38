import { type Fragment, isReferenced, isUniqueViolation, type Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import type { Values } from '../registry/index.ts';
import type { Owner } from './rules.ts';

export interface SettingRow {
  id: string;
  domain: string;
  providerId: string;
  version: string;
  name: string;
  isDefault: boolean;
  enabled: boolean;
  /** Plain fields. */
  options: Values;
  /** Secret fields, encrypted. */
  credentials: string;
  lastTestAt: Date | null;
  lastTestOk: boolean | null;
  createdAt: Date;
  updatedAt: Date;
}
export type SettingToInsert = Omit<SettingRow, 'lastTestAt' | 'lastTestOk' | 'createdAt' | 'updatedAt'>;

const owned = (sql: Sql, owner: Owner): Fragment => (owner === null ? sql`org_id is null` : sql`org_id = ${owner}`);
const columns = (sql: Sql): Fragment => sql`
  id, domain, provider_id as "providerId", provider_version as version, name, is_default as "isDefault", enabled,
  options, credentials,
  last_test_at as "lastTestAt", last_test_ok as "lastTestOk", created_at as "createdAt", updated_at as "updatedAt"`;

/** Lists the rows of an owner, of one domain when given; the default first, then the oldest. */
export const listSettingRows = (sql: Sql, owner: Owner, domain?: string) => sql<SettingRow[]>`
  select ${columns(sql)}
  from provider_settings
  where ${owned(sql, owner)} ${domain === undefined ? sql`` : sql`and domain = ${domain}`}
  order by domain, is_default desc, created_at, id`;

export async function settingOf(sql: Sql, owner: Owner, id: string): Promise<SettingRow | undefined> {
  const [row] = await sql<
    SettingRow[]
  >`select ${columns(sql)} from provider_settings where id = ${id} and ${owned(sql, owner)}`;
  return row;
}

/** Reads a row for a change, and locks it until the commit. */
export async function settingForUpdate(sql: Sql, owner: Owner, id: string): Promise<SettingRow | undefined> {
  const [row] = await sql<
    SettingRow[]
  >`select ${columns(sql)} from provider_settings where id = ${id} and ${owned(sql, owner)} for update`;
  return row;
}

export const unsetDefault = (sql: Sql, owner: Owner, domain: string, exceptId: string) => sql`
  update provider_settings
  set is_default = false, updated_at = now()
  where ${owned(sql, owner)} and domain = ${domain} and is_default and id <> ${exceptId}`;

/** Two concurrent defaults: the later one gets a conflict. */
async function oneDefault<T>(work: PromiseLike<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isUniqueViolation(error, 'provider_settings_default'))
      throw new AppError('conflict', 'Another setting became the default meanwhile: try again');
    throw error;
  }
}

export async function insertSetting(sql: Sql, owner: Owner, row: SettingToInsert): Promise<SettingRow> {
  const [made] = await oneDefault(sql<SettingRow[]>`
    insert into provider_settings (id, org_id, domain, provider_id, provider_version, name, is_default, enabled,
      options, credentials)
    values (${row.id}, ${owner}, ${row.domain}, ${row.providerId}, ${row.version}, ${row.name}, ${row.isDefault},
      ${row.enabled}, ${sql.json(row.options)}, ${row.credentials})
    returning ${columns(sql)}`);
  return made!;
}

/** Writes the whole row, and clears the result of its last test. */
export async function updateSetting(sql: Sql, owner: Owner, row: SettingToInsert): Promise<SettingRow> {
  const [made] = await oneDefault(sql<SettingRow[]>`
    update provider_settings
    set provider_version = ${row.version}, name = ${row.name}, is_default = ${row.isDefault}, enabled = ${row.enabled},
      options = ${sql.json(row.options)}, credentials = ${row.credentials}, last_test_at = null, last_test_ok = null,
      updated_at = now()
    where id = ${row.id} and ${owned(sql, owner)}
    returning ${columns(sql)}`);
  return made!;
}

const inUse = () =>
  new AppError('conflict', 'This setting is in use: disable it, or move what uses it to another one first');

const makesLinks = () =>
  new AppError('conflict', 'The default shortener uses this setting: choose another defaultShortlinkProviderId first');

/**
 * Channels of the organization use the app of the row `s`: it has no other setting of that network. Their logins have a
 * copy of the app, whose secret is read here when it has changed.
 */
const hasChannels = (sql: Sql): Fragment => sql`(
  s.domain = 'social'
  and s.enabled
  and exists (
    select
    from channels c
    where c.org_id = s.org_id
      and c.provider_id = s.provider_id
      and c.deleted_at is null
  )
  and not exists (
    select
    from provider_settings o
    where o.org_id = s.org_id
      and o.domain = s.domain
      and o.provider_id = s.provider_id
      and o.enabled
      and o.id <> s.id
  )
)`;

/** Nothing but the row `s` makes the links of the organization, which has named its provider the default. */
const isDefaultShortener = (sql: Sql): Fragment => sql`(
  s.domain = 'shortlink'
  and exists (
    select
    from organizations o
    where o.id = s.org_id
      and o.settings ->> 'defaultShortlinkProviderId' = s.provider_id
  )
  and not exists (
    select
    from provider_settings o
    where (o.org_id = s.org_id or o.org_id is null)
      and o.domain = s.domain
      and o.provider_id = s.provider_id
      and o.enabled
      and o.id <> s.id
  )
)`;

/** Whether files lie where the setting says, come there in parts, or are still to be deleted there. */
export const holdsObjects = async (sql: Sql, owner: Owner, id: string): Promise<boolean> =>
  (
    await sql`
      select
      from provider_settings s
      where id = ${id} and ${owned(sql, owner)}
        and (exists (select from files where storage_setting_id = s.id)
          or exists (select from media_uploads where storage_setting_id = s.id)
          or exists (select from media_pending_deletions where storage_setting_id = s.id))`
  ).count === 1;

/**
 * Deletes a setting, in the caller's transaction; 409 where a row refers to it by a foreign key, or channels or the
 * default shortener use it (S157). One after the other in an organization, also with who chooses its default shortener:
 * of the last two of a provider each would be deleted as the other is there.
 */
export async function deleteSetting(
  sql: Sql,
  owner: Owner,
  id: string,
): Promise<Pick<SettingRow, 'domain' | 'providerId'> | undefined> {
  if (owner !== null) await sql`select from organizations where id = ${owner} for no key update`;
  try {
    const [row] = await sql<Pick<SettingRow, 'domain' | 'providerId'>[]>`
      delete from provider_settings s
      where id = ${id} and ${owned(sql, owner)} and not ${hasChannels(sql)} and not ${isDefaultShortener(sql)}
      returning domain, provider_id as "providerId"`;
    const kept = row ? undefined : await settingOf(sql, owner, id);
    if (kept) throw kept.domain === 'shortlink' ? makesLinks() : inUse();
    return row;
  } catch (error) {
    throw isReferenced(error) ? inUse() : error;
  }
}

/**
 * Writes the result of a test to the row as it was tested: every write encrypts anew, so a changed row does not match.
 */
export const noteTest = (
  sql: Sql,
  owner: Owner,
  { id, credentials }: Pick<SettingRow, 'id' | 'credentials'>,
  ok: boolean,
) => sql`
  update provider_settings
  set last_test_at = now(), last_test_ok = ${ok}
  where id = ${id} and ${owned(sql, owner)} and credentials = ${credentials}`;
