import { isIP } from 'node:net';
import type { Config } from '../../src/platform/config/index.ts';

const MONTH_SECONDS = 30 * 24 * 60 * 60;

/**
 * The cookies of a request whose names begin with the prefix, without it; of two with one name the first counts.
 */
export function parseCookies(header: string | undefined, prefix = ''): Readonly<Record<string, string>> {
  const cookies: Record<string, string> = Object.create(null);
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    const whole = pair.slice(0, at).trim();
    const name = whole.slice(prefix.length);
    if (at > 0 && whole.startsWith(prefix) && name !== '' && !(name in cookies))
      cookies[name] = pair.slice(at + 1).trim();
  }
  return cookies;
}

/** The parent domain that both addresses share; undefined when they share the host, or nothing (S26). */
export function commonDomain(frontendUrl: string, backendUrl: string): string | undefined {
  const [front, back] = [new URL(frontendUrl).hostname, new URL(backendUrl).hostname];
  if (front === back || isIP(front) || isIP(back)) return undefined;
  const [a, b] = [front.split('.').toReversed(), back.split('.').toReversed()];
  let shared = 0;
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared += 1;
  return shared >= 2 ? a.slice(0, shared).toReversed().join('.') : undefined;
}

/**
 * What the names of our cookies begin with: nothing, or a prefix by which browsers hold them to this host, or to https
 * where they are for a parent domain (RFC 6265bis, 4.1.3).
 */
export function cookiePrefix({ prefixedCookies, frontendUrl, backendUrl }: Config['http']): string {
  if (!prefixedCookies) return '';
  return commonDomain(frontendUrl, backendUrl) ? '__Secure-' : '__Host-';
}

export interface CookieOptions {
  maxAgeSeconds?: number;
  httpOnly?: boolean;
}

/** Writes `Set-Cookie` values with the flags of this deployment (S26, S27, S229); `null` deletes the cookie. */
export function cookieWriter({ production, notSecured, http }: Pick<Config, 'production' | 'notSecured' | 'http'>) {
  const domain = commonDomain(http.frontendUrl, http.backendUrl);
  const prefix = cookiePrefix(http);
  const flags = `; Path=/${domain ? `; Domain=${domain}` : ''}${notSecured ? '; SameSite=Lax' : production ? '; Secure; SameSite=None' : '; Secure; SameSite=Lax'}`;
  return (
    name: string,
    value: string | null,
    { maxAgeSeconds = MONTH_SECONDS, httpOnly = true }: CookieOptions = {},
  ): string =>
    `${prefix}${name}=${value ?? ''}; Max-Age=${value === null ? 0 : maxAgeSeconds}${flags}${httpOnly ? '; HttpOnly' : ''}`;
}
export type CookieWriter = ReturnType<typeof cookieWriter>;
