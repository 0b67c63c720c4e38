export { type Changes, openChanges } from './changes.ts';
export type { Owner } from './rules.ts';
export { type Configured, openProviderSettings, type ProviderSettings, type SettingView } from './service.ts';
