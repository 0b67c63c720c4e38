import { type Action, ACTIONS, type Permission, type Resource, RESOURCES } from './permissions.ts';

export const SYSTEM_ROLES = ['owner', 'admin', 'editor', 'member', 'viewer'] as const;
export type SystemRole = (typeof SYSTEM_ROLES)[number];

const LETTERS: Record<string, Action> = { C: 'create', R: 'read', U: 'update', D: 'delete', M: 'manage' };

/** S54: C create, R read, U update, D delete, M manage, which implies the others; in the order of SYSTEM_ROLES. */
const TABLE: Record<Resource, readonly [string, string, string, string, string]> = {
  posts: ['M', 'M', 'M', 'CRU', 'R'],
  channels: ['M', 'M', 'RU', 'R', 'R'],
  media: ['M', 'M', 'M', 'CRU', 'R'],
  analytics: ['M', 'M', 'R', 'R', 'R'],
  comments: ['M', 'M', 'M', 'CR', 'R'],
  campaigns: ['M', 'M', 'M', 'CRU', 'R'],
  brand_kits: ['M', 'M', 'CRU', 'R', 'R'],
  competitors: ['M', 'M', 'CRU', 'R', 'R'],
  ai: ['M', 'M', 'M', 'CR', ''],
  webhooks: ['M', 'M', 'R', 'R', 'R'],
  notifications: ['M', 'M', 'R', 'R', 'R'],
  members: ['M', 'M', 'R', 'R', 'R'],
  roles: ['M', 'M', 'R', 'R', 'R'],
  billing: ['M', 'R', '', '', ''],
  settings: ['M', 'M', 'R', 'R', 'R'],
  providers: ['M', 'M', 'R', 'R', 'R'],
  api_keys: ['M', 'M', '', '', ''],
  oauth_apps: ['M', 'M', '', '', ''],
};

/** `manage` on a resource means all its actions (S50); written out, so that a check is one look-up. */
export function expand(permissions: Iterable<Permission>): ReadonlySet<Permission> {
  const all = new Set(permissions);
  for (const resource of RESOURCES)
    if (all.has(`${resource}:manage`)) for (const action of ACTIONS) all.add(`${resource}:${action}`);
  return all;
}

const everything: ReadonlySet<Permission> = expand(RESOURCES.map((resource): Permission => `${resource}:manage`));
const nothing: ReadonlySet<Permission> = new Set();

/** The permissions of a system role, `manage` not written out. */
export const grantsOf = (role: SystemRole): readonly Permission[] =>
  RESOURCES.flatMap((resource) =>
    [...TABLE[resource][SYSTEM_ROLES.indexOf(role)]!].map((letter): Permission => `${resource}:${LETTERS[letter]!}`),
  );

const bySystemRole = new Map<string, ReadonlySet<Permission>>(
  SYSTEM_ROLES.map((role) => [role, expand(grantsOf(role))]),
);

export const isSystemRole = (key: string): key is SystemRole => bySystemRole.has(key);

/**
 * The permissions of a role: a system role by its key, a role of an org by what its row grants. The super-admin flag
 * passes every cell; an unknown role may do nothing.
 */
export const permissionsOf = (
  roleKey: string,
  isSuperAdmin: boolean,
  granted?: readonly Permission[] | null,
): ReadonlySet<Permission> =>
  isSuperAdmin ? everything : (bySystemRole.get(roleKey) ?? (granted ? expand(granted) : nothing));

/** Who holds a permission, for a statement: the system roles, and what a role of an org grants in its row. */
export const holdersOf = (permission: Permission): { roles: readonly string[]; grants: readonly string[] } => ({
  roles: SYSTEM_ROLES.filter((role) => permissionsOf(role, false).has(permission)),
  grants: [permission, `${permission.split(':')[0]}:manage`],
});

/** Whose `update` of posts, media and campaigns reaches only what they made themselves (note to S54). */
export const updatesOnlyOwn = (roleKey: string, isSuperAdmin: boolean): boolean =>
  roleKey === 'member' && !isSuperAdmin;

/**
 * Whose posts go out unasked where `approvalRequired` is `members`: of those who may decide about posts, but for
 * editors (note to S54).
 */
export const schedulesFreely = (
  roleKey: string,
  isSuperAdmin: boolean,
  permissions: ReadonlySet<Permission>,
): boolean => isSuperAdmin || (permissions.has('posts:manage') && roleKey !== 'editor');

/** Nobody grants, takes or acts on more than they hold (S46). */
export const covers = (held: ReadonlySet<Permission>, wanted: Iterable<Permission>): boolean =>
  [...expand(wanted)].every((permission) => held.has(permission));
