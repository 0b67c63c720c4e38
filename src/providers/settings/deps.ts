import type { Database } from '../../platform/db/index.ts';
import { type Clock, notFound, type Vault } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { AnyAdapter, Lifecycle, Providers, Values } from '../registry/index.ts';
import type { Changes } from './changes.ts';
import type { Given } from './rules.ts';
import type { SettingRow } from './store.ts';

/** What the room is opened with. */
export interface ProviderSettingsOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Pick<Providers, 'resolve' | 'list' | 'status' | 'fields' | 'check'>;
  outbound: Pick<Outbound, 'judge' | 'judgeResolved'>;
  /** Used for settings of the instance. Default: `outbound`. */
  operatorOutbound?: Pick<Outbound, 'judge'>;
  changes?: Pick<Changes, 'tell'>;
}
/** What the use cases of the room are handed. */
export type SettingsDeps = Required<ProviderSettingsOptions>;

export interface NewSetting extends Given {
  domain: string;
  providerId: string;
  version?: string | undefined;
  name?: string | undefined;
  isDefault?: boolean | undefined;
  enabled?: boolean | undefined;
  allowPreview?: boolean | undefined;
}
/** The provider and the version may be named as they are. */
export interface SettingChange extends Given {
  domain?: string | undefined;
  providerId?: string | undefined;
  version?: string | undefined;
  allowPreview?: boolean | undefined;
  name?: string | undefined;
  isDefault?: boolean | undefined;
  enabled?: boolean | undefined;
}
export interface Tested {
  ok: boolean;
  message: string;
  latencyMs: number;
}
/** A row with what is only known beside it. */
export interface SettingView extends SettingRow {
  /** By secret field: whether it is set, and the end of it. */
  secrets: Readonly<Record<string, { set: boolean; hint: string | null }>>;
  status: Lifecycle;
  upgradeAvailable: string | null;
}
/** A setting in use, with the adapter of the version it is pinned to. */
export interface Configured<A extends AnyAdapter = AnyAdapter> {
  /** Id of the row. */
  id: string;
  adapter: A;
  name: string;
  values: Values;
}

export const unknownSetting = () => notFound('Setting not found');
