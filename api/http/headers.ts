import type { ServerResponse } from 'node:http';
import type { Config } from '../../src/config/config.ts';

const SECURITY: Readonly<Record<string, string>> = {
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains; preload',
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** The security headers of the interface: in production, unless NOT_SECURED. */
export function setSecurityHeaders(response: ServerResponse, { production, notSecured }: Pick<Config, 'production' | 'notSecured'>): void {
  if (!production || notSecured) return;
  for (const name in SECURITY) response.setHeader(name, SECURITY[name]!);
}
