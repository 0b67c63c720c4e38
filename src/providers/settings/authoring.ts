import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { AppError, fieldError, invalidField, isId, newId } from '../../platform/kernel/index.ts';
import type { AdapterOf } from '../registry/index.ts';
import { type NewSetting, type SettingChange, type SettingsDeps, type SettingView, unknownSetting } from './deps.ts';
import { movedAddresses, movedPlace, type Owner, setupOf, split } from './rules.ts';
import * as store from './store.ts';
import { wantedAdapter } from './trial.ts';
import { adapterOfRow, editPinned, judgeNames, judgeValues, seal, valuesOf, viewOfSetting } from './values.ts';

/** Creates a setting; without a version the newest active one is chosen and stored (S159). */
export async function createSetting(
  deps: SettingsDeps,
  owner: Owner,
  setting: NewSetting,
  by: AuditActor,
): Promise<SettingView> {
  const adapter = wantedAdapter(deps, setting);
  const values = judgeValues(deps, adapter, owner, setting);
  await judgeNames(deps, adapter, owner, setting);
  const { plain, secrets } = split(setupOf(adapter, owner).fields, values);
  const row: store.SettingToInsert = {
    id: newId(),
    domain: adapter.domain,
    providerId: adapter.id,
    version: adapter.version,
    name: setting.name ?? adapter.title,
    isDefault: setting.isDefault ?? false,
    enabled: setting.enabled ?? true,
    options: plain,
    credentials: seal(deps.vault, secrets),
  };
  return deps.sql.begin(async (tx) => {
    if (row.isDefault) await store.unsetDefault(tx, owner, row.domain, row.id);
    const made = await store.insertSetting(tx, owner, row);
    await note(tx, by, owner, 'provider_setting.created', row, { version: row.version });
    return viewOfSetting(deps, made);
  });
}

/**
 * Changes a setting; an absent field stays, null clears it. A changed address deletes the secrets that are not given
 * again. 409 for another place while something lies at this one.
 */
export async function changeSetting(
  deps: SettingsDeps,
  owner: Owner,
  id: string,
  wanted: SettingChange,
  by: AuditActor,
): Promise<SettingView> {
  // before its row is locked: names may take their time
  const known = isId(id) ? await store.settingOf(deps.sql, owner, id) : undefined;
  const pinned = known && adapterOfRow(deps, known);
  if (pinned) await judgeNames(deps, pinned, owner, wanted);
  return writeSetting(deps, owner, id, by, 'provider_setting.updated', async (row, tx) => {
    checkSame(row, wanted);
    const adapter = editPinned(deps, row, wanted.allowPreview);
    const { fields: declared } = setupOf(adapter, owner);
    const before = valuesOf(deps, row);
    const kept = judgeValues(deps, adapter, owner, wanted, before);
    await checkPlace(tx, owner, id, movedPlace(declared, before, kept));
    const addresses = movedAddresses(declared, before, kept);
    // After a change of an address the secrets must be given again: nobody can send one to their own server unread.
    const values =
      addresses.length > 0 ? judgeValues(deps, adapter, owner, wanted, split(declared, before).plain) : kept;
    const { plain, secrets } = split(declared, values);
    const { name = row.name, isDefault = row.isDefault, enabled = row.enabled } = wanted;
    const fields = [...Object.keys(wanted.credentials ?? {}), ...Object.keys(wanted.options ?? {})];
    return {
      row: { ...row, name, isDefault, enabled, options: plain, credentials: seal(deps.vault, secrets) },
      detail: { fields, ...(addresses.length > 0 && { addresses }) },
    };
  });
}

/** Rows of files name the setting and not the place, so that another one would hide them all. */
async function checkPlace(tx: Sql, owner: Owner, id: string, moved: string | undefined): Promise<void> {
  if (moved === undefined || !(await store.holdsObjects(tx, owner, id))) return;
  const message = 'stays as it is while files lie there: create another setting for another place';
  throw new AppError('conflict', `${moved} ${message}`, {
    errors: [fieldError(`credentials.${moved}`, message, 'in_use')],
  });
}

/** A setting keeps its provider, and its version until it is upgraded (S159). */
function checkSame(row: store.SettingRow, wanted: SettingChange): void {
  const isOther = (field: 'domain' | 'providerId' | 'version') =>
    wanted[field] !== undefined && wanted[field] !== row[field];
  for (const field of ['domain', 'providerId'] as const)
    if (isOther(field)) throw invalidField(field, 'stays as it is: create another setting', 'immutable');
  if (isOther('version')) throw invalidField('version', 'stays as it is: upgrade the setting', 'immutable');
}

/** Moves a setting to another version; nothing else does. */
export const upgradeSetting = (
  deps: SettingsDeps,
  owner: Owner,
  id: string,
  { version, allowPreview }: { version: string; allowPreview?: boolean | undefined },
  by: AuditActor,
): Promise<SettingView> =>
  writeSetting(deps, owner, id, by, 'provider_setting.upgraded', (row) => {
    const use = version === row.version ? 'edit' : 'new';
    const domain = row.domain as keyof AdapterOf; // a column holds it
    const adapter = deps.providers.resolve(domain, row.providerId, { version, allowPreview, use });
    const values = judgeValues(deps, adapter, owner, {}, valuesOf(deps, row));
    const { plain, secrets } = split(setupOf(adapter, owner).fields, values);
    return {
      row: { ...row, version, options: plain, credentials: seal(deps.vault, secrets) },
      detail: { from: row.version, to: version },
    };
  });

/** Removes a setting; 409 while something refers to it. */
export async function removeSetting(
  { sql, changes }: Pick<SettingsDeps, 'sql' | 'changes'>,
  owner: Owner,
  id: string,
  by: AuditActor,
): Promise<void> {
  const { domain, providerId } = await sql.begin(async (tx) => {
    const row = isId(id) ? await store.deleteSetting(tx, owner, id) : undefined;
    if (!row) throw unknownSetting();
    await note(tx, by, owner, 'provider_setting.deleted', { id, ...row });
    return row;
  });
  changes.tell(owner, { domain, id: providerId });
}

interface Written {
  row: store.SettingToInsert;
  detail?: Record<string, string | string[]>;
}
/** Changes a row under its lock. */
async function writeSetting(
  deps: SettingsDeps,
  owner: Owner,
  id: string,
  by: AuditActor,
  action: string,
  work: (row: store.SettingRow, tx: Sql) => Written | Promise<Written>,
): Promise<SettingView> {
  const shown = await deps.sql.begin(async (tx) => {
    const found = isId(id) ? await store.settingForUpdate(tx, owner, id) : undefined;
    if (!found) throw unknownSetting();
    const { row, detail } = await work(found, tx);
    if (row.isDefault) await store.unsetDefault(tx, owner, row.domain, row.id);
    const written = await store.updateSetting(tx, owner, row);
    await note(tx, by, owner, action, row, detail);
    return viewOfSetting(deps, written);
  });
  deps.changes.tell(owner, { domain: shown.domain, id: shown.providerId });
  return shown;
}

const note = (
  tx: Sql,
  by: AuditActor,
  owner: Owner,
  action: string,
  row: { id: string; domain: string; providerId: string },
  detail: Record<string, string | string[]> = {},
) =>
  writeAudit(tx, by, {
    orgId: owner,
    action,
    resource: 'providers',
    resourceId: row.id,
    detail: { domain: row.domain, providerId: row.providerId, ...detail },
  });
