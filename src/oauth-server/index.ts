export type { JudgedRequest } from './consent.ts';
export { type ServerAddresses, authorizationServer } from './discovery.ts';
export { OAuthError, type OAuthCode } from './errors.ts';
export type { DeviceCodes, WaitingDevice } from './devices.ts';
export type { Grant } from './tokens.ts';
export { protectedResource, type Surface, SURFACES } from './surfaces.ts';
export { ClientMetadata, RegisteredClient } from './registration.ts';
export type { OAuth } from './service.ts';
export { approvalNamesOf, type ApprovalRow, type AppRow, deleteApprovalsOf } from './store.ts';
