export { type Action, ACTIONS, type Permission, type Resource, RESOURCES } from './permissions.ts';
export { expand, isSystemRole, permissionsOf, SYSTEM_ROLES, type SystemRole } from './roles.ts';
