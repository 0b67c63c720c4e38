import { isId } from '../../platform/kernel/index.ts';
import type { AdapterOf } from '../registry/index.ts';
import { type Configured, type SettingsDeps, unknownSetting } from './deps.ts';
import type { Owner } from './rules.ts';
import * as store from './store.ts';
import { adapterOfRow, valuesOf } from './values.ts';

/** The settings in use in a domain, by provider id: the default, else the oldest (see `ProviderSettings`). */
export async function findConfigured<D extends keyof AdapterOf>(
  deps: SettingsDeps,
  owner: Owner,
  domain: D,
): Promise<ReadonlyMap<string, Configured<AdapterOf[D]> | undefined>> {
  const found = new Map<string, Configured<AdapterOf[D]> | undefined>();
  for (const row of await store.listSettingRows(deps.sql, owner, domain)) {
    const one = usable<D>(deps, row);
    if (!found.get(row.providerId)) found.set(row.providerId, one);
  }
  return found;
}

/** The setting in use of a domain: the first usable one. */
export async function findChosen<D extends keyof AdapterOf>(
  deps: SettingsDeps,
  owner: Owner,
  domain: D,
): Promise<Configured<AdapterOf[D]> | undefined> {
  for (const row of await store.listSettingRows(deps.sql, owner, domain)) {
    const one = usable<D>(deps, row);
    if (one) return one;
  }
  return undefined;
}

/** Every setting in use of a domain: the default first, then the oldest. */
export async function listUsable<D extends keyof AdapterOf>(
  deps: SettingsDeps,
  owner: Owner,
  domain: D,
): Promise<Configured<AdapterOf[D]>[]> {
  const rows = await store.listSettingRows(deps.sql, owner, domain);
  return rows.flatMap((row) => usable<D>(deps, row) ?? []);
}

/** The setting that a row refers to, enabled or not. */
export async function getPinned<D extends keyof AdapterOf>(
  deps: SettingsDeps,
  owner: Owner,
  domain: D,
  id: string,
): Promise<Configured<AdapterOf[D]>> {
  const row = isId(id) ? await store.settingOf(deps.sql, owner, id) : undefined;
  if (row?.domain !== domain) throw unknownSetting();
  const adapter = deps.providers.resolve(domain, row.providerId, { version: row.version, use: 'pinned' });
  return { id, adapter, name: row.name, values: valuesOf(deps, row) };
}

function usable<D extends keyof AdapterOf>(
  deps: SettingsDeps,
  row: store.SettingRow,
): Configured<AdapterOf[D]> | undefined {
  const adapter = adapterOfRow(deps, row) as AdapterOf[D] | undefined; // the rows of one domain were asked for
  if (!row.enabled || adapter === undefined || deps.providers.status(adapter) === 'retired') return undefined;
  return { id: row.id, adapter, name: row.name, values: valuesOf(deps, row) };
}
