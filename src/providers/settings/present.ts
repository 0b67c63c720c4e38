import type { Lifecycle } from '../registry/index.ts';
import type { SettingRow } from './store.ts';

/** A row with what is only known beside it. */
export interface SettingView extends SettingRow {
  /** By secret field: whether it is set, and the end of it. */
  secrets: Readonly<Record<string, { set: boolean; hint: string | null }>>;
  status: Lifecycle;
  upgradeAvailable: string | null;
}

/** The public shape of a setting (S156). Secret values are not in it. */
export const presentSetting = (view: SettingView) => ({
  id: view.id,
  domain: view.domain,
  providerId: view.providerId,
  version: view.version,
  name: view.name,
  isDefault: view.isDefault,
  enabled: view.enabled,
  options: { ...view.options },
  credentials: { ...view.secrets },
  status: view.status,
  upgradeAvailable: view.upgradeAvailable,
  lastTestAt: view.lastTestAt?.toISOString() ?? null,
  lastTestOk: view.lastTestOk,
  createdAt: view.createdAt.toISOString(),
  updatedAt: view.updatedAt.toISOString(),
});
