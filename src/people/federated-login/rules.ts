import { z } from 'zod';
import type { Account } from '../../providers/registry/index.ts';

/** Our own addresses, of which a provider may send people back to. */
export interface LoginAddresses {
  frontendUrl: string;
  mainUrl: string;
  backendUrl: string;
  /** `MOBILE_APP_SCHEME` */
  mobileAppScheme: string;
}

/**
 * Where a provider sends people back when the client names nothing; one address for each provider, so that a code of
 * one is never taken for another's.
 */
export const defaultRedirect = ({ frontendUrl }: LoginAddresses, providerId: string): string =>
  `${frontendUrl.replace(/(?<!\/)\/+$/, '')}/auth/callback/${providerId}`;

/** The addresses that a message to be signed may name. */
export const ownOrigins = ({ frontendUrl, mainUrl }: LoginAddresses): string[] => [
  ...new Set([new URL(frontendUrl).origin, new URL(mainUrl).origin]),
];

/**
 * Whether a client may have people sent here: a page of the application, the mobile application itself, or the page
 * that leads there. Only the one spelling counts, without user, query or fragment, so that no parser can read another
 * address out of it (X18).
 */
export function isOwnRedirect(
  text: string,
  { frontendUrl, mainUrl, backendUrl, mobileAppScheme }: LoginAddresses,
): boolean {
  if (text === mobileAppScheme || text === `${backendUrl}/auth/oauth-mobile-callback`) return true;
  const url = URL.parse(text);
  if (!url || url.href !== text || /[?#%\\@]/.test(text) || url.pathname.includes('//')) return false;
  return [frontendUrl, mainUrl].some((own) => {
    const base = new URL(own);
    return url.origin === base.origin && `${url.pathname}/`.startsWith(`${base.pathname.replace(/(?<!\/)\/+$/, '')}/`);
  });
}

/** The deep link into the mobile application, with what it may be told and nothing else (S37). */
export function mobileLink(scheme: string, told: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(
    Object.entries(told).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString();
  return query === '' ? scheme : `${scheme}${scheme.includes('?') ? '&' : '?'}${query}`;
}

const SignedLogin = z.object({ message: z.string(), signature: z.string() });
export interface WalletProof {
  message: string;
  signature: string;
  nonce: string;
}

/** A proof as clients send it, JSON or the same in base64; undefined for anything else. */
export function readProof(text: string): WalletProof | undefined {
  // takes base64url too
  const json = text.trimStart().startsWith('{') ? text : Buffer.from(text, 'base64').toString('utf8');
  try {
    const proof = SignedLogin.parse(JSON.parse(json));
    const nonce = /^Nonce: ([A-Za-z0-9]{8,64})$/m.exec(proof.message)?.[1];
    return nonce === undefined ? undefined : { ...proof, nonce };
  } catch {
    return undefined;
  }
}

const Address = z.email().max(254);
const Picture = z.url({ protocol: /^https?$/ }).max(2_048);
/**
 * Somebody who can be registered, whatever the provider says: an address that can be one, a name in one line, a picture
 * of the web.
 */
export const tidy = ({ providerId, email, name, avatarUrl }: Account): Account => ({
  providerId,
  email: Address.safeParse(email).data ?? null,
  name: name
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .normalize('NFC')
    .trim()
    .slice(0, 100)
    .toWellFormed(),
  avatarUrl: Picture.safeParse(avatarUrl).data ?? null,
});

/**
 * In the place of an address for people whose provider has none. The domain exists nowhere (RFC 6761): no mail can
 * leave for it.
 */
export const placeholderEmail = (providerName: string, providerId: string): string =>
  `${providerName}_${providerId.replace(/[^A-Za-z0-9]+/g, '-')}@no-address.invalid`;
