import { isActive } from '../../entitlements/index.ts';
import type { ErrorRow } from '../../platform/error-log/index.ts';
import type { OrgRow } from './org-store.ts';
import type { UserRow } from './user-store.ts';

/** A line of `GET /admin/orgs` (S211). With billing off every org is on AGENCY, without an active subscription on STARTER (S216, S217). */
export const presentOrg = (
  { id, name, createdAt, disabledAt, members, channels, tier, graceEndsAt }: OrgRow,
  { billing, now }: { billing: boolean; now: Date },
) => ({
  id,
  name,
  tier: !billing ? 'AGENCY' : tier !== null && isActive(graceEndsAt, now) ? tier : 'STARTER',
  members,
  channels,
  createdAt: createdAt.toISOString(),
  disabled: disabledAt !== null,
});

/** A line of `GET /admin/users` (S211). */
export const presentUser = ({ createdAt, lastOnline, ...row }: UserRow) => ({
  ...row,
  lastOnline: lastOnline?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});

export const presentError = ({ at, ...row }: ErrorRow) => ({ ...row, at: at.toISOString() });
