import { createHmac } from 'node:crypto';
import { equalSecrets, randomBase64url } from '../../platform/kernel/index.ts';

/**
 * Cookies of browsers in which an account was logged in by its password. One opens nothing: it only has attempts of its
 * own.
 */
export interface KnownBrowsers {
  /** The value of the cookie, for the account of this address. */
  remember(email: string): string;
  /** Names the browser of a cookie that was made for this account; undefined for any other text. */
  idOf(email: string, cookie: string | undefined): string | undefined;
}

const ID = 22; // 128 random bits in base64url

export function openKnownBrowsers(secret: string): KnownBrowsers {
  const sign = (email: string, id: string) =>
    createHmac('sha256', secret).update(`known browser|${id}|${email.toLowerCase()}`).digest('base64url');
  return {
    remember(email) {
      const id = randomBase64url(16);
      return id + sign(email, id);
    },
    idOf(email, cookie) {
      if (cookie === undefined) return undefined;
      const id = cookie.slice(0, ID);
      return equalSecrets(cookie, id + sign(email, id)) ? id : undefined;
    },
  };
}
