export { environmentLogins, ssoOf } from './fallback.ts';
export { mobileLink } from './rules.ts';
export { type FederatedLogin, type Offered, openFederatedLogin } from './service.ts';
