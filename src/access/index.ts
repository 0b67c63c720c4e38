export type { Action, Permission, Resource } from './permissions.ts';
export { permissionsOf, SYSTEM_ROLES, type SystemRole } from './roles.ts';
