export { ACTIONS, type Action, type Permission, PERMISSIONS, type Resource, RESOURCES } from './permissions.ts';
export {
  covers,
  grantsOf,
  holdersOf,
  isSystemRole,
  permissionsOf,
  schedulesFreely,
  SYSTEM_ROLES,
  type SystemRole,
  updatesOnlyOwn,
} from './roles.ts';
export {
  isScope,
  type Scope,
  scopeFor,
  SCOPES,
  scopesOfKey,
  scopesOfToken,
  scopesWithin,
  sortedScopes,
} from './scopes.ts';
