import { z } from 'zod';
import { HOLDS, type OrganizationRow, Settings, orgSettingsOf } from '../../../src/people/organizations/index.ts';

export const OrgSettings = Settings.extend({
  timezone: z.string(),
  missedPolicy: z.literal(HOLDS.missedPolicy),
});

/** S209. */
export const presentSettings = (row: OrganizationRow): z.input<typeof OrgSettings> => ({
  timezone: row.timezone,
  ...HOLDS,
  ...orgSettingsOf(row),
});
