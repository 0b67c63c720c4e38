import { type Permission, permissionsOf, SYSTEM_ROLES } from '../../src/people/access/index.ts';
import { type AnyRoute, impersonationOf } from './route.ts';

/** Lists who may call what, one line for each route, as a Markdown table. */
export function permissionMatrix(routes: readonly AnyRoute[]): string {
  const lines = routes
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.method < b.method ? -1 : 1))
    .map((route) => {
      const everybody = route.auth.includes('none');
      const only = route.auth.includes('super-admin');
      const permissions = [route.permission, route.orPermission].filter((one) => one !== undefined);
      const isOpen = (held: ReadonlySet<Permission>) =>
        permissions.length === 0 || permissions.some((one) => held.has(one));
      const may = SYSTEM_ROLES.map((role) =>
        everybody || (!only && isOpen(permissionsOf(role, false))) ? 'yes' : '–',
      );
      const credential = everybody ? 'none needed' : route.auth.join(', ');
      const impersonation = route.auth.includes('session') ? impersonationOf(route) : '–';
      return `| ${route.method.toUpperCase()} | \`${route.path}\` | ${credential} | ${permissions.join(' or ') || '–'} | ${route.planLimit ?? '–'} | ${impersonation} | ${may.join(' | ')} |`;
    });
  return [
    '# Permissions',
    '',
    'Who may call what, read from the route declarations. A super-admin passes every permission. “Acting” says what holds for a super-admin',
    'who acts as a user: the route works under the rights of that user, is refused, or ignores whom they act as.',
    '',
    `| Method | Path | Credential | Permission | Limit (402) | Acting | ${SYSTEM_ROLES.join(' | ')} |`,
    `|---|---|---|---|---|---|${SYSTEM_ROLES.map(() => '---|').join('')}`,
    ...lines,
    '',
  ].join('\n');
}
