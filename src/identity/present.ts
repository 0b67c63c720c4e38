import { permissionsOf } from '../access/index.ts';
import type { MembershipRow, OrganizationRow, SelfRow } from './store.ts';

const AGENCY_CHANNELS = 100;

/** What a console needs in one call (S42). With billing off every org is on AGENCY (S216). */
export const presentSelf = (row: SelfRow) => ({
  id: row.id,
  email: row.email,
  name: row.name,
  lastName: row.lastName,
  bio: row.bio,
  avatarUrl: row.avatarUrl,
  timezone: row.timezone,
  providerName: row.providerName,
  activated: row.activated,
  isSuperAdmin: row.isSuperAdmin,
  admin: row.isSuperAdmin,
  impersonate: false,
  orgId: row.orgId,
  orgName: row.orgName,
  role: row.roleKey,
  permissions: [...permissionsOf(row.roleKey, row.isSuperAdmin)].toSorted(),
  tier: 'AGENCY' as const,
  isLifetime: false,
  isTrialing: false,
  allowTrial: row.allowTrial,
  totalChannels: AGENCY_CHANNELS,
  billingEnabled: false,
  lastReadNotifications: row.lastReadNotifications.toISOString(),
});

export const presentOrganization = (row: OrganizationRow) => ({ id: row.id, name: row.name, timezone: row.timezone, createdAt: row.createdAt.toISOString() });

export const presentMembership = (row: MembershipRow) => ({
  id: row.id,
  name: row.name,
  role: row.roleKey,
  disabled: row.disabled,
  createdAt: row.createdAt.toISOString(),
});
