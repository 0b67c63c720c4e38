export { withLockedMembership, type MembersDeps, ownOrgs } from './locked-membership.ts';
export { presentInvitation, presentMember, presentRole, systemRoles } from './present.ts';
export { forbidden, type MemberRights } from './rules.ts';
export { type Members, openMembers } from './service.ts';
export { disableForPlan, membersOfOnly } from './store.ts';
