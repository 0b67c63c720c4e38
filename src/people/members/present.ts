import { grantsOf, isSystemRole, SYSTEM_ROLES, type SystemRole } from '../access/index.ts';
import type { InvitationRow } from './invitation-store.ts';
import type { RoleRow } from './role-store.ts';
import type { MemberRow } from './store.ts';

const SYSTEM_NAMES: Record<SystemRole, string> = { owner: 'Owner', admin: 'Admin', editor: 'Editor', member: 'Member', viewer: 'Viewer' };

/** The name of a role for people; an org cannot have one of the names of system roles. */
export const roleName = (key: string, name: string | null): string => (isSystemRole(key) ? SYSTEM_NAMES[key] : (name ?? ''));
export const isSystemName = (name: string): boolean => Object.values(SYSTEM_NAMES).some((one) => one.toLowerCase() === name.toLowerCase());

/** Key and id of a role are the same text (S48). */
const role = (key: string, name: string | null) => ({ role: key, roleId: key, roleName: roleName(key, name) });

export const presentMember = (row: MemberRow) => ({
  id: row.id,
  email: row.email,
  name: row.name,
  avatarUrl: row.avatarUrl,
  ...role(row.roleKey, row.roleName),
  disabled: row.disabled,
  lastOnline: row.lastOnline?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
});

/** Without the link: only the answer to its making carries it. */
export const presentInvitation = (row: InvitationRow) => ({
  id: row.id,
  email: row.email,
  ...role(row.roleKey, row.roleName),
  invitedBy: row.invitedBy,
  expiresAt: row.expiresAt.toISOString(),
  createdAt: row.createdAt.toISOString(),
});

/** What a role was granted; `manage` stands for the other four. */
export const presentRole = ({ id, name, permissions }: RoleRow) => ({ id, key: id, name, system: false, permissions: permissions.toSorted() });
export const systemRoles = SYSTEM_ROLES.map((key) => ({ id: key, key, name: SYSTEM_NAMES[key], system: true, permissions: grantsOf(key).toSorted() }));
