export { acting, type Ground, ownOrgs } from './locked-membership.ts';
export { presentInvitation, presentMember, presentRole, systemRoles } from './present.ts';
export { forbidden, type Standing } from './rules.ts';
export { type Members, openMembers } from './service.ts';
export { disableForPlan, membersOfOnly } from './store.ts';
