import { z } from 'zod';
import { HOLDS, type OrganizationRow, Settings, orgSettingsOf } from '../../../src/people/organizations/index.ts';

export const OrgSettings = Settings.extend({
  timezone: z.string(),
  approvalRequired: z.literal(HOLDS.approvalRequired),
});

/** S209. */
export const presentSettings = (row: OrganizationRow): z.input<typeof OrgSettings> => ({
  timezone: row.timezone,
  ...HOLDS,
  ...orgSettingsOf(row),
});
