export { type Changes, openChanges } from './changes.ts';
export { presentSetting, type SettingView } from './present.ts';
export type { Owner } from './rules.ts';
export { type Configured, openProviderSettings, type ProviderSettings } from './service.ts';
