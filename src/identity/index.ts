export { presentMembership, presentOrganization, presentSelf } from './present.ts';
export { hasPlus, isTimezone } from './rules.ts';
export { type Identity, openIdentity, type Registration } from './service.ts';
