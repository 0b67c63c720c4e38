export { type Changes, openChanges } from './changes.ts';
export type { Configured, SettingView } from './deps.ts';
export type { Owner } from './rules.ts';
export { openProviderSettings, type ProviderSettings } from './service.ts';
