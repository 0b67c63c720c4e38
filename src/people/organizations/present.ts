import { HOLDS, Settings } from './rules.ts';
import type { OrganizationRow } from './store.ts';

export const presentOrganization = ({ id, name, timezone, createdAt }: OrganizationRow) => ({ id, name, timezone, createdAt: createdAt.toISOString() });

/** The settings as they hold: what was never decided has its default. */
export const settingsOf = (row: Pick<OrganizationRow, 'settings'>): Settings => Settings.parse(row.settings);

/** S209. */
export const presentSettings = (row: OrganizationRow) => ({ timezone: row.timezone, ...HOLDS, ...settingsOf(row) });
