export type { JudgedRequest } from './consent.ts';
export { type Addresses, authorizationServer } from './discovery.ts';
export { OAuthError, type OAuthCode } from './errors.ts';
export { presentApp, presentApproval, presentDevice, presentWaitingDevice, presentGrant, presentNewApp, presentRequest } from './present.ts';
export { ClientMetadata, RegisteredClient } from './registration.ts';
export type { OAuth } from './service.ts';
export { approvalNamesOf, deleteApprovalsOf } from './store.ts';
