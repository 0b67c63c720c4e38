import { AppError } from '../../src/kernel/index.ts';
import type { AnyRoute, Principal } from './route.ts';

/** Refuses with 403 what the role does not allow; the super-admin flag passes every permission. */
export function permit(route: AnyRoute, principal: Principal | undefined): void {
  if (!principal) return;
  if (route.auth.includes('super-admin') && !principal.isSuperAdmin) throw new AppError('super_admin_required', 'Only a super-admin may do this');
  if (route.permission && !principal.permissions.has(route.permission)) throw new AppError('forbidden', `Your role lacks the permission ${route.permission}`);
}
