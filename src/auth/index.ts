export type { ApiKeys, MadeKey } from './api-keys.ts';
export { SESSION_SECONDS } from './jwt.ts';
export { presentApiKey, presentSession } from './present.ts';
export { type Auth, openAuth } from './service.ts';
export { type Credentials, type Device, type Holder, unauthenticated } from './sessions.ts';
