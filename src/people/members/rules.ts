import { covers, type Permission, permissionsOf } from '../access/index.ts';
import { AppError, invalidField } from '../../platform/kernel/index.ts';

export const MOST_ROLES = 50;

/** The role of a member, as the row says now. */
export interface MemberRights {
  roleKey: string;
  /** The permissions of a custom role. */
  granted: Permission[] | null;
  isSuperAdmin: boolean;
  disabled: boolean;
}
/** A role as it is given to somebody. */
export interface GivenRole {
  key: string;
  name: string;
  permissions: ReadonlySet<Permission>;
}
export interface NamedRole {
  /** A role's key; `roleId` means the same by its id. */
  role?: string | undefined;
  roleId?: string | undefined;
}

export const forbidden = (message: string) => new AppError('forbidden', message);
export const lacks = (permission: Permission) => forbidden(`Your role lacks the permission ${permission}`);

/** The permissions of a member; the super-admin flag passes everything (RB6). */
export const heldBy = ({ roleKey, granted, isSuperAdmin }: MemberRights): ReadonlySet<Permission> =>
  permissionsOf(roleKey, isSuperAdmin, granted);
/** The permissions of the membership alone: the super-admin flag is no part of the org. */
const heldByRole = ({ roleKey, granted }: MemberRights): ReadonlySet<Permission> =>
  permissionsOf(roleKey, false, granted);

/** Nobody acts on a member who may do more than they may (403). */
export function mayActOn(me: MemberRights, member: MemberRights): void {
  if (!covers(heldBy(me), heldByRole(member))) throw forbidden('This member holds permissions that you do not');
}
/** Nobody grants more than they hold (403, S46). */
export function mayGrant(me: MemberRights, permissions: Iterable<Permission>): void {
  if (!covers(heldBy(me), permissions)) throw forbidden('You cannot grant permissions that you do not hold');
}
/**
 * Nobody withdraws or replaces an invitation that grants more than they hold (403), as nobody acts on such a member.
 * `role`: undefined for one that is gone by now.
 */
export function mayTakeBack(me: MemberRights, role: GivenRole | undefined): void {
  if (role && !covers(heldBy(me), role.permissions))
    throw forbidden('This invitation grants permissions that you do not hold');
}

/** The role that a body names, and by which field. */
export function namedRole({ role, roleId }: NamedRole): { key: string; field: 'role' | 'roleId' } | undefined {
  if (role !== undefined && roleId !== undefined && role !== roleId)
    throw invalidField('roleId', 'names another role than role', 'invalid_value');
  if (roleId !== undefined) return { key: roleId, field: 'roleId' };
  return role === undefined ? undefined : { key: role, field: 'role' };
}

const isOwner = ({ roleKey, disabled }: Pick<MemberRights, 'roleKey' | 'disabled'>) => roleKey === 'owner' && !disabled;
/** Tells whether a change takes an owner away; of the last one that is refused. */
export const losesOwner = (
  before: MemberRights,
  after: Pick<MemberRights, 'roleKey' | 'disabled'> | undefined,
): boolean => isOwner(before) && !(after && isOwner(after));
export const lastOwner = () =>
  new AppError('conflict', 'An organization needs an owner: make somebody else owner first');
