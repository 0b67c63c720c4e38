import { z } from 'zod';
import type { OrganizationRow } from '../../../src/people/organizations/index.ts';
import { instant } from '../../http/fields.ts';

export const Organization = z.object({ id: z.string(), name: z.string(), timezone: z.string(), createdAt: instant });

export const presentOrganization = ({
  id,
  name,
  timezone,
  createdAt,
}: OrganizationRow): z.input<typeof Organization> => ({
  id,
  name,
  timezone,
  createdAt: createdAt.toISOString(),
});
