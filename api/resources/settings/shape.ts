import { z } from 'zod';
import { type OrganizationRow, Settings, orgSettingsOf } from '../../../src/people/organizations/index.ts';

export const OrgSettings = Settings.extend({
  timezone: z.string(),
});

/** S209. */
export const presentSettings = (row: OrganizationRow): z.input<typeof OrgSettings> => ({
  timezone: row.timezone,
  ...orgSettingsOf(row),
});
