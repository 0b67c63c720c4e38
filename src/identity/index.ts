export { DIGESTS, type Preferences, type PreferencesChange } from './preferences.ts';
export { presentMembership, presentProfile, presentSelf } from './present.ts';
export { hasPlus, locked } from './rules.ts';
export { lockSuperAdmins } from './store.ts';
export { type Identity, openIdentity, type ProviderRegistration, type Registration } from './service.ts';
