import { bind } from '../../platform/kernel/index.ts';
import { type AdapterOf, knownDomain } from '../registry/index.ts';
import { changeSetting, createSetting, removeSetting, upgradeSetting } from './authoring.ts';
import type { ProviderSettingsOptions, SettingsDeps, SettingView } from './deps.ts';
import { findChosen, findConfigured, getPinned, listUsable } from './in-use.ts';
import type { Owner } from './rules.ts';
import { listSettingRows } from './store.ts';
import { testSetting, trySetting } from './trial.ts';
import { viewOfSetting } from './values.ts';

export type ProviderSettings = ReturnType<typeof openProviderSettings>;

/**
 * Opens the settings of providers, of operators and organizations. Every write is judged by the same rules (S158):
 * provider, version, status, fields.
 */
export function openProviderSettings(options: ProviderSettingsOptions) {
  const { outbound, operatorOutbound = outbound, changes = { tell: () => {} } } = options;
  const deps: SettingsDeps = { ...options, operatorOutbound, changes };
  return {
    ...bind(deps, {
      create: createSetting,
      update: changeSetting,
      upgrade: upgradeSetting,
      remove: removeSetting,
      test: testSetting,
      tryOut: trySetting,
    }),
    async list(owner: Owner, domain?: string): Promise<readonly SettingView[]> {
      const rows = await listSettingRows(deps.sql, owner, domain === undefined ? undefined : knownDomain(domain));
      return rows.map((row) => viewOfSetting(deps, row));
    },
    // The type of what these answer follows their argument, which `bind` does not carry over.
    /**
     * Answers the settings in use in a domain, by provider id: the default, else the oldest. Undefined: there are
     * settings, but none is enabled with a usable version. Read for each call, so that a change applies in every
     * process at once.
     */
    configured: <D extends keyof AdapterOf>(owner: Owner, domain: D) => findConfigured(deps, owner, domain),
    /**
     * Answers the setting in use of a domain: the default of the owner, else the oldest that is enabled with a usable
     * version.
     */
    chosen: <D extends keyof AdapterOf>(owner: Owner, domain: D) => findChosen(deps, owner, domain),
    /** Lists the settings in use of a domain, the default of the owner first, then the oldest. */
    usable: <D extends keyof AdapterOf>(owner: Owner, domain: D) => listUsable(deps, owner, domain),
    /** Answers what a row refers to, enabled or not: 404 for another owner's, 410 `version_retired` (S161). */
    pinned: <D extends keyof AdapterOf>(owner: Owner, domain: D, id: string) => getPinned(deps, owner, domain, id),
  };
}
