export { environmentLogins, ssoOf } from './fallback.ts';
export { presentOffered } from './present.ts';
export { mobileLink } from './rules.ts';
export { type Login, openLogins } from './service.ts';
