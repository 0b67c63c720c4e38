export { type McpPolicy, Settings, orgSettingsOf } from './rules.ts';
export type { Endings } from './ports.ts';
export { openOrganizations, type Organizations } from './service.ts';
export type { OrganizationRow } from './store.ts';
