export type { ApiKeyRow, ApiKeys, MadeKey, MemberKeyRow } from './api-keys.ts';
export { openAuthTokens, SESSION_SECONDS, type AuthTokens } from './jwt.ts';
export { lastUsed } from './last-used.ts';
export type { Accounts } from './account.ts';
export type { Approvals, CalendarFeeds, ProgramSpending } from './ports.ts';
export { type AuthRoom, openAuth } from './service.ts';
export { revokeEverySession, revokeSessions } from './store.ts';
export { tracesRetention } from './trace-store.ts';
export {
  type Browser,
  type SessionTokens,
  type Holder,
  requireSession,
  type SessionActor,
  type SessionRow,
  unauthenticated,
} from './sessions.ts';
