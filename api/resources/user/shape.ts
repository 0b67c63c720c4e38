import { z } from 'zod';
import type { ShownPlan } from '../../../src/entitlements/index.ts';
import { permissionsOf } from '../../../src/people/access/index.ts';
import type { MembershipRow, ProfileRow, SelfRow } from '../../../src/people/identity/index.ts';
import { instant } from '../../http/fields.ts';

export const Self = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  lastName: z.string(),
  bio: z.string(),
  avatarUrl: z.string().nullable(),
  timezone: z.string(),
  providerName: z.string(),
  activated: z.boolean(),
  hasPassword: z.boolean(),
  isSuperAdmin: z.boolean(),
  admin: z.boolean(),
  impersonate: z.boolean(),
  orgId: z.string(),
  orgName: z.string(),
  role: z.string(),
  permissions: z.array(z.string()),
  tier: z.string(),
  isLifetime: z.boolean(),
  isTrialing: z.boolean(),
  allowTrial: z.boolean(),
  totalChannels: z.int(),
  billingEnabled: z.boolean(),
  lastReadNotifications: instant,
});

/** Everything that a console needs in one call (S42). */
export const presentSelf = (
  row: SelfRow,
  plan: ShownPlan,
  { impersonate = false }: { impersonate?: boolean } = {},
): z.input<typeof Self> => ({
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

export const Membership = z.object({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  disabled: z.boolean(),
  createdAt: instant,
});

export const presentMembership = (row: MembershipRow): z.input<typeof Membership> => ({
  id: row.id,
  name: row.name,
  role: row.roleKey,
  disabled: row.disabled,
  createdAt: row.createdAt.toISOString(),
});

export const Profile = z.object({
  name: z.string(),
  lastName: z.string(),
  bio: z.string(),
  avatarUrl: z.string().nullable(),
  pictureId: z.string().nullable(),
  timezone: z.string(),
  emailUndeliverable: z.boolean(),
});

export const presentProfile = ({
  name,
  lastName,
  bio,
  avatarUrl,
  pictureId,
  timezone,
  emailUndeliverable,
}: ProfileRow): z.input<typeof Profile> => ({
  name,
  lastName,
  bio,
  avatarUrl,
  pictureId,
  timezone,
  emailUndeliverable,
});
