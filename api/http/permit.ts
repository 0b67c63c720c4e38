import { type Permission, scopeFor } from '../../src/people/access/index.ts';
import { requireFeature } from '../../src/entitlements/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import { type AnyRoute, impersonationOf, type Principal } from './route.ts';

/** Refuses with 403 whose role lacks the permission. */
export function requirePermission({ permissions }: Principal, permission: Permission): void {
  if (!permissions.has(permission)) throw new AppError('forbidden', `Your role lacks the permission ${permission}`);
}

/**
 * Refuses with 403 what the role, or the scope of a token, does not allow; the super-admin flag passes every
 * permission. Then with 402 a client whose plan has no API (S58).
 */
export function permit(
  route: Pick<AnyRoute, 'auth' | 'method' | 'permission' | 'orPermission' | 'planLimit' | 'impersonation' | 'surface'>,
  principal: Principal | undefined,
): void {
  if (!principal || route.surface) return; // an MCP surface judges each message by its tool
  if (route.auth.includes('super-admin') && !principal.isSuperAdmin)
    throw new AppError('super_admin_required', 'Only a super-admin may do this');
  if (principal.impersonatorId && impersonationOf(route) !== 'allowed')
    throw new AppError('forbidden', 'This is refused while you impersonate a user: stop impersonating first');
  const scope = scopeFor(route.method);
  if (principal.scopes && !principal.scopes.has(scope))
    throw new AppError('insufficient_scope', `This token lacks the scope ${scope}`);
  if (route.permission && !(route.orPermission && principal.permissions.has(route.orPermission)))
    requirePermission(principal, route.permission);
  if (principal.plan) requireFeature(principal.plan, route.planLimit === 'mcp' ? 'mcp' : 'api');
}
