import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import { covers } from '../access/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import {
  AppError,
  fieldError,
  invalidField,
  newId,
  notFound,
  randomBase64url,
  sha256,
} from '../../platform/kernel/index.ts';
import { withLockedMembership, type MembersDeps, givenRole, roleByKey } from './locked-membership.ts';
import * as store from './invitation-store.ts';
import { forbidden, heldBy, mayGrant, mayTakeBack, type NamedRole } from './rules.ts';
import { insertMember, lockOrgRow, findMemberRights } from './store.ts';

export interface Made {
  id: string;
  email: string;
  role: string;
  roleId: string;
  /** Answered this once; afterwards only its hash is known. */
  url: string;
  expiresAt: Date;
}
/** Ways into an org (S47): a link for one address, once, for seven days. */
export interface Invitations {
  list(orgId: string): Promise<readonly store.InvitationRow[]>;
  create(orgId: string, by: AuditActor, invitation: NamedRole & { email: string; sendEmail: boolean }): Promise<Made>;
  withdraw(orgId: string, by: AuditActor, id: string): Promise<void>;
  /**
   * Makes the user a member; 410 for a link that is unknown, used, withdrawn, replaced, expired, or grants more than
   * its inviter still holds, who is locked out perhaps.
   */
  join(by: AuditActor & { userId: string }, token: string): Promise<string>;
  dropOld(limit: number): Promise<number>;
}

const MOST_OPEN = 200;
const expired = () =>
  new AppError('link_expired', 'This invitation was used, withdrawn, or is no longer valid: ask for a new one');

export function openInvitations({
  email: mail,
  frontendUrl,
  ...deps
}: MembersDeps & { email: Email; frontendUrl: string }): Invitations {
  const { sql, billing } = deps;
  return {
    list: (orgId) => store.listInvitations(sql, orgId),

    create: (orgId, by, { email, sendEmail, ...named }) =>
      withLockedMembership(deps, orgId, by, 'members:create', async (tx, me) => {
        const role = await givenRole(tx, orgId, named);
        if (!role) throw invalidField('role', 'name a role, or its id as roleId', 'required');
        mayGrant(me, role.permissions);
        const replaced = await store.openRoleOf(tx, orgId, email);
        if (replaced !== undefined) mayTakeBack(me, await roleByKey(tx, orgId, replaced));
        if (await store.hasMemberWith(tx, orgId, email))
          throw new AppError('conflict', 'A member has this address already', {
            errors: [fieldError('email', 'is the address of a member', 'taken')],
          });
        if ((await store.countOpenOfOthers(tx, orgId, email)) >= MOST_OPEN)
          throw new AppError('invalid_request', `At most ${MOST_OPEN} invitations can be open: withdraw some first`);
        await billing.admit(tx, orgId, 'team_members');
        const token = randomBase64url(32);
        const id = newId();
        const expiresAt = await store.putInvitation(tx, orgId, {
          id,
          email,
          roleKey: role.key,
          tokenHash: sha256(token),
          invitedBy: by.userId!,
        });
        const url = `${frontendUrl.replace(/\/$/, '')}/?org=${token}`;
        if (sendEmail) {
          const data = {
            ...(await store.namesFor(tx, orgId, by.userId!)),
            roleName: role.name,
            url,
            expiresAt: expiresAt.toISOString(),
          };
          await mail.queue(tx, { to: email, orgId, content: { template: 'invitation', data } });
        }
        await writeAudit(tx, by, {
          orgId,
          action: 'invitation.created',
          resource: 'members',
          resourceId: id,
          detail: { role: role.key },
        });
        return { id, email, role: role.key, roleId: role.key, url, expiresAt };
      }),

    withdraw: (orgId, by, id) =>
      withLockedMembership(deps, orgId, by, 'members:delete', async (tx, me) => {
        const gone = await store.deleteInvitation(tx, orgId, id);
        if (!gone) throw notFound();
        mayTakeBack(me, await roleByKey(tx, orgId, gone.roleKey));
        const detail = { role: gone.roleKey };
        await writeAudit(tx, by, { orgId, action: 'invitation.deleted', resource: 'members', resourceId: id, detail });
      }),

    join: async (by, token) => {
      const invited = await store.invitationOf(sql, sha256(token));
      if (!invited) throw expired();
      const { id, orgId, roleKey } = invited;
      if ((await store.emailOfUser(sql, by.userId))?.toLowerCase() !== invited.email.toLowerCase())
        throw forbidden('This invitation is for another address');
      await sql.begin(async (tx) => {
        await billing.lockOrg(tx, orgId);
        if (!(await lockOrgRow(tx, orgId))) throw expired();
        if (!(await store.deleteInvitation(tx, orgId, id))) throw expired(); // used by another request meanwhile
        if (await findMemberRights(tx, orgId, by.userId))
          throw new AppError('conflict', 'You are a member of this organization already');
        const inviter = await findMemberRights(tx, orgId, invited.invitedBy);
        const role = await roleByKey(tx, orgId, roleKey);
        const held = inviter && !inviter.disabled ? heldBy(inviter) : undefined;
        if (!role || !held?.has('members:create') || !covers(held, role.permissions)) throw expired();
        await billing.admit(tx, orgId, 'team_members');
        await insertMember(tx, orgId, by.userId, roleKey);
        const detail = { role: roleKey, invitedBy: invited.invitedBy };
        await writeAudit(tx, by, {
          orgId,
          action: 'member.joined',
          resource: 'members',
          resourceId: by.userId,
          detail,
        });
      });
      return orgId;
    },

    dropOld: (limit) => store.dropOldInvitations(sql, limit),
  };
}
