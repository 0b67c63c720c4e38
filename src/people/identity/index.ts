export { DIGESTS, type Preferences, type PreferencesChange } from './preferences.ts';
export { presentMembership, presentProfile, presentSelf } from './present.ts';
export { hasPlus, locked, setupTokenOf } from './rules.ts';
export { lockSuperAdmins } from './store.ts';
export { appointSuperAdmin, type Claim, type Identity, openIdentity, type ProviderRegistration, type Registration } from './service.ts';
