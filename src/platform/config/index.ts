export type { AppCredentials } from './apps.ts';
export { type Config, readConfig, type Reading } from './config.ts';
export { type ConfigIssue, environment, type Environment } from './env.ts';
export { describeIssues, settingsReference } from './reference.ts';
export { DATA_FOLDER_MODE, keptSecret } from './secrets.ts';
export { SETTINGS } from './settings.ts';
