import { permissionsOf, SYSTEM_ROLES } from '../../src/people/access/index.ts';
import { type AnyRoute, impersonationOf } from './route.ts';

/** Lists who may call what, one line for each route, as a Markdown table. */
export function permissionMatrix(routes: readonly AnyRoute[]): string {
  const lines = routes
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.method < b.method ? -1 : 1))
    .map((route) => {
      const everybody = route.auth.includes('none');
      const only = route.auth.includes('super-admin');
      const may = SYSTEM_ROLES.map((role) =>
        everybody || (!only && (!route.permission || permissionsOf(role, false).has(route.permission))) ? 'yes' : '–',
      );
      const credential = everybody ? 'none needed' : route.auth.join(', ');
      const impersonation = route.auth.includes('session') ? impersonationOf(route) : '–';
      return `| ${route.method.toUpperCase()} | \`${route.path}\` | ${credential} | ${route.permission ?? '–'} | ${route.planLimit ?? '–'} | ${impersonation} | ${may.join(' | ')} |`;
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
