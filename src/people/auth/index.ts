export type { ApiKeyRow, ApiKeys, MadeKey, MemberKeyRow } from './api-keys.ts';
export { openTokens, SESSION_SECONDS, type Tokens } from './jwt.ts';
export { lastUsed } from './last-used.ts';
export type { Approvals } from './ports.ts';
export { type Auth, openAuth } from './service.ts';
export { revokeEverySession, revokeSessions } from './store.ts';
export { type Browser, type Credentials, type Holder, type SessionRow, unauthenticated } from './sessions.ts';
