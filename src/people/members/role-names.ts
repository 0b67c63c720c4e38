import { isSystemRole, type SystemRole } from '../access/index.ts';

const SYSTEM_NAMES: Record<SystemRole, string> = {
  owner: 'Owner',
  admin: 'Admin',
  editor: 'Editor',
  member: 'Member',
  viewer: 'Viewer',
};

/** The name of a role for people; an org cannot have one of the names of system roles. */
export const roleName = (key: string, name: string | null): string =>
  isSystemRole(key) ? SYSTEM_NAMES[key] : (name ?? '');
export const isSystemName = (name: string): boolean =>
  Object.values(SYSTEM_NAMES).some((one) => one.toLowerCase() === name.toLowerCase());
