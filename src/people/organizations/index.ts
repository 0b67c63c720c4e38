export { presentOrganization, presentSettings, settingsOf } from './present.ts';
export { HOLDS, Settings } from './rules.ts';
export type { Endings } from './ports.ts';
export { openOrganizations, type Organizations } from './service.ts';
