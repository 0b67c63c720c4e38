export { presentOrganization, presentSettings, settingsOf } from './present.ts';
export { Settings } from './rules.ts';
export { openOrganizations, type Organizations } from './service.ts';
