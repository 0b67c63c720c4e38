import { Settings } from './rules.ts';
import type { OrganizationRow } from './store.ts';

export const presentOrganization = ({ id, name, timezone, createdAt }: OrganizationRow) => ({ id, name, timezone, createdAt: createdAt.toISOString() });

/** The settings as they hold: what was never decided has its default. */
export const settingsOf = (row: Pick<OrganizationRow, 'settings'>): Settings => Settings.parse(row.settings);

/** S209. */
export function presentSettings(row: OrganizationRow) {
  const { mcp: _mcp, ...settings } = settingsOf(row);
  return { timezone: row.timezone, ...settings };
}
