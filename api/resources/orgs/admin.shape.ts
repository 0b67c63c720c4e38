import { z } from 'zod';
import { isActive } from '../../../src/entitlements/index.ts';
import type { OrgRow } from '../../../src/operations/admin/index.ts';
import { instant } from '../../http/fields.ts';

export const Org = z.strictObject({
  id: z.string(),
  name: z.string(),
  tier: z.string(),
  members: z.int(),
  channels: z.int(),
  createdAt: instant,
  disabled: z.boolean(),
});

/**
 * A line of `GET /admin/orgs` (S211). With billing off every org is on AGENCY, without an active subscription on
 * STARTER (S216, S217).
 */
export const presentOrg = (
  { id, name, createdAt, disabledAt, members, channels, tier, graceEndsAt }: OrgRow,
  { billing, now }: { billing: boolean; now: Date },
): z.input<typeof Org> => ({
  id,
  name,
  tier: !billing ? 'AGENCY' : tier !== null && isActive(graceEndsAt, now) ? tier : 'STARTER',
  members,
  channels,
  createdAt: createdAt.toISOString(),
  disabled: disabledAt !== null,
});
