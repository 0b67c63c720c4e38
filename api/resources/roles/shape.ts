import { z } from 'zod';
import { grantsOf, SYSTEM_ROLES } from '../../../src/people/access/index.ts';
import { roleName, type RoleRow } from '../../../src/people/members/index.ts';

export const Role = z.object({
  id: z.string(),
  key: z.string(),
  name: z.string(),
  system: z.boolean(),
  permissions: z.array(z.string()),
});

/** Lists what a role was granted; `manage` stands for the other four. */
export const presentRole = ({ id, name, permissions }: RoleRow): z.input<typeof Role> => ({
  id,
  key: id,
  name,
  system: false,
  permissions: permissions.toSorted(),
});

export const systemRoles: z.input<typeof Role>[] = SYSTEM_ROLES.map((key) => ({
  id: key,
  key,
  name: roleName(key, null),
  system: true,
  permissions: grantsOf(key).toSorted(),
}));
