export {
  completePreferences,
  DIGESTS,
  type NotificationChannel,
  type Preferences,
  type PreferencesChange,
  type QuietHours,
  type Toggles,
} from './preferences.ts';
export { avatarUrl, type ProfileRow } from './profile-store.ts';
export { hasPlus, locked, setupTokenOf } from './rules.ts';
export { lockSuperAdmins, type MembershipRow, type SelfRow } from './store.ts';
export {
  appointSuperAdmin,
  type Claim,
  type Identity,
  openIdentity,
  type ProviderRegistration,
  type Registration,
} from './service.ts';
