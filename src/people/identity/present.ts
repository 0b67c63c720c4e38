import { permissionsOf } from '../access/index.ts';
import type { ShownPlan } from '../../entitlements/index.ts';
import type { ProfileRow } from './profile-store.ts';
import type { MembershipRow, SelfRow } from './store.ts';

/** What a console needs in one call (S42). */
export const presentSelf = (row: SelfRow, plan: ShownPlan, { impersonate = false }: { impersonate?: boolean } = {}) => ({
  id: row.id,
  email: row.email,
  name: row.name,
  lastName: row.lastName,
  bio: row.bio,
  avatarUrl: row.avatarUrl,
  timezone: row.timezone,
  providerName: row.providerName,
  activated: row.activated,
  hasPassword: row.hasPassword,
  isSuperAdmin: row.isSuperAdmin,
  admin: row.isSuperAdmin,
  impersonate,
  orgId: row.orgId,
  orgName: row.orgName,
  role: row.roleKey,
  permissions: [...permissionsOf(row.roleKey, row.isSuperAdmin, row.granted)].toSorted(),
  ...plan,
  allowTrial: row.allowTrial,
  lastReadNotifications: row.lastReadNotifications.toISOString(),
});

export const presentMembership = (row: MembershipRow) => ({
  id: row.id,
  name: row.name,
  role: row.roleKey,
  disabled: row.disabled,
  createdAt: row.createdAt.toISOString(),
});

export const presentProfile = ({ name, lastName, bio, avatarUrl, pictureId, timezone }: ProfileRow) => ({
  name,
  lastName,
  bio,
  avatarUrl,
  pictureId,
  timezone,
});
