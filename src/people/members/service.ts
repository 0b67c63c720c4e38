import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { type Permission, permissionsOf } from '../access/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import { invalidField, isId, notFound } from '../../platform/kernel/index.ts';
import { withLockedMembership, type MembersDeps, givenRole, takeAway } from './locked-membership.ts';
import { type Invitations, openInvitations } from './invitations.ts';
import { openRoles, type Roles } from './roles.ts';
import { forbidden, lastOwner, losesOwner, mayActOn, mayGrant, type NamedRole, type MemberRights } from './rules.ts';
import * as store from './store.ts';

/**
 * Members of an org, their roles and invitations. The last owner stays (409), nobody grants or acts on more than they
 * hold (403); both are judged behind one lock of the org.
 */
export interface Members {
  readonly roles: Roles;
  readonly invitations: Invitations;
  list(orgId: string): Promise<readonly store.MemberRow[]>;
  /** Whether a member other than this user, who can act, has the permission. */
  hasOther(orgId: string, userId: string, permission: Permission): Promise<boolean>;
  change(
    orgId: string,
    by: AuditActor,
    userId: string,
    change: NamedRole & { disabled?: boolean | undefined },
  ): Promise<store.MemberRow>;
  /** Keys and tokens of the membership end in the same commit; what the member made stays. */
  remove(orgId: string, by: AuditActor, userId: string): Promise<void>;
  leave(orgId: string, by: AuditActor & { userId: string }): Promise<void>;
  /** The member becomes owner, and an owner who hands over becomes admin, in one commit. */
  transfer(orgId: string, by: AuditActor & { userId: string }, userId: string): Promise<void>;
}

interface Options extends MembersDeps {
  email: Email;
  /** Where links of mails lead. */
  frontendUrl: string;
}

export function openMembers({ email, frontendUrl, ...deps }: Options): Members {
  const { sql, billing } = deps;
  async function find(tx: Sql, orgId: string, userId: string): Promise<MemberRights> {
    const member = isId(userId) ? await store.findMemberRights(tx, orgId, userId) : undefined;
    if (!member) throw notFound();
    return member;
  }
  async function keepOwner(
    tx: Sql,
    orgId: string,
    userId: string,
    before: MemberRights,
    after?: Pick<MemberRights, 'roleKey' | 'disabled'>,
  ): Promise<void> {
    if (losesOwner(before, after) && !(await store.otherOwner(tx, orgId, userId))) throw lastOwner();
  }
  const note = (tx: Sql, orgId: string, by: AuditActor, action: string, userId: string, detail = {}) =>
    writeAudit(tx, by, { orgId, action, resource: 'members', resourceId: userId, detail });

  return {
    roles: openRoles(deps),
    invitations: openInvitations({ ...deps, email, frontendUrl }),
    list: (orgId) => store.listMembers(sql, orgId),
    hasOther: async (orgId, userId, permission) =>
      (await store.rolesOfOthers(sql, orgId, userId)).some(({ roleKey, isSuperAdmin, granted }) =>
        permissionsOf(roleKey, isSuperAdmin, granted).has(permission),
      ),

    change: (orgId, by, userId, { disabled: wanted, ...named }) =>
      withLockedMembership(deps, orgId, by, 'members:update', async (tx, me) => {
        const member = await find(tx, orgId, userId);
        const role = await givenRole(tx, orgId, named);
        mayActOn(me, member);
        if (role) mayGrant(me, role.permissions);
        const after = { roleKey: role?.key ?? member.roleKey, disabled: wanted ?? member.disabled };
        await keepOwner(tx, orgId, userId, member, after);
        if (member.disabled && !after.disabled) await billing.admit(tx, orgId, 'team_members');
        if (after.roleKey !== member.roleKey || after.disabled !== member.disabled) {
          await store.updateMember(tx, orgId, userId, after);
          const before = { role: member.roleKey, disabled: member.disabled };
          await note(tx, orgId, by, 'member.updated', userId, {
            role: after.roleKey,
            disabled: after.disabled,
            before,
          });
        }
        return (await store.findMember(tx, orgId, userId))!;
      }),

    remove: (orgId, by, userId) =>
      withLockedMembership(deps, orgId, by, 'members:delete', async (tx, me) => {
        const member = await find(tx, orgId, userId);
        mayActOn(me, member);
        await keepOwner(tx, orgId, userId, member);
        await takeAway(tx, orgId, userId);
        await note(tx, orgId, by, 'member.removed', userId, { role: member.roleKey });
      }),

    leave: (orgId, by) =>
      withLockedMembership(deps, orgId, by, undefined, async (tx, me) => {
        await keepOwner(tx, orgId, by.userId, me);
        await takeAway(tx, orgId, by.userId);
        await note(tx, orgId, by, 'member.left', by.userId, { role: me.roleKey });
      }),

    transfer: (orgId, by, userId) =>
      withLockedMembership(deps, orgId, by, undefined, async (tx, me) => {
        if (me.roleKey !== 'owner' && !me.isSuperAdmin) throw forbidden('Only an owner may hand the organization over');
        const member =
          isId(userId) && userId !== by.userId ? await store.findMemberRights(tx, orgId, userId) : undefined;
        if (!member || member.disabled)
          throw invalidField('userId', 'no other active member of this organization', 'unknown_id');
        const changes = [{ id: userId, roleKey: 'owner' }];
        if (me.roleKey === 'owner') changes.push({ id: by.userId, roleKey: 'admin' });
        // in the order in which everybody locks memberships
        for (const { id, roleKey } of changes.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
          await store.updateMember(tx, orgId, id, { roleKey, disabled: false });
        await keepOwner(tx, orgId, by.userId, me, { roleKey: 'admin', disabled: false }); // who is locked out is none
        await note(tx, orgId, by, 'org.transferred', userId, { role: 'owner', before: { role: member.roleKey } });
      }),
  };
}
