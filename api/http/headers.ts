import type { Config } from '../../src/platform/config/index.ts';

const SECURITY: Readonly<Record<string, string>> = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
};

/** The security headers of the interface: in production, unless NOT_SECURED. */
export const securityHeaders = ({
  production,
  notSecured,
}: Pick<Config, 'production' | 'notSecured'>): Readonly<Record<string, string>> =>
  production && !notSecured ? SECURITY : {};
