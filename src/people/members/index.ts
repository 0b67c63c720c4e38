export { withLockedMembership, type MembersDeps, ownOrgs } from './locked-membership.ts';
export { forgetInvitations, type InvitationRow } from './invitation-store.ts';
export { roleName } from './role-names.ts';
export type { RoleRow } from './role-store.ts';
export { forbidden, type MemberRights } from './rules.ts';
export { type Members, openMembers } from './service.ts';
export { disableMembersForPlan, hasOtherMembers, lockMembersOfOnly, type MemberRow } from './store.ts';
