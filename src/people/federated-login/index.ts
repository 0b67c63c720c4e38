export { environmentLogins, ssoOf } from './fallback.ts';
export { mobileLink } from './rules.ts';
export { type Login, type Offered, openLogins } from './service.ts';
