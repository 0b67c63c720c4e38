import { z } from 'zod';
import type { UserRow } from '../../../src/operations/admin/index.ts';
import { instant } from '../../http/fields.ts';

export const User = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  lastName: z.string(),
  providerName: z.string(),
  activated: z.boolean(),
  isSuperAdmin: z.boolean(),
  lastOnline: instant.nullable(),
  createdAt: instant,
  orgs: z.int(),
});

/** A line of `GET /admin/users` (S211). */
export const presentUser = ({ createdAt, lastOnline, ...row }: UserRow): z.input<typeof User> => ({
  ...row,
  lastOnline: lastOnline?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});
