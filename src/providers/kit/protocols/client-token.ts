import { z } from 'zod';
import type { HeldToken, Line } from '../declare/line.ts';

const Grant = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive() });
/** A token is renewed this long before it expires. */
const SPARE_MS = 60_000;

/** Tokens are kept in `heldTokens`; without it by what was made for these calls alone. */
export type TokenLine = Pick<Line<'http'>, 'http' | 'clock' | 'hide'> & Partial<Pick<Line<'http'>, 'heldTokens'>>;

/**
 * Gets an access token when one is needed, by client credentials (RFC 6749 4.4) unless the form names another grant, and
 * keeps it until it expires. An account has one token of each address.
 */
export function clientToken(
  { http, clock, hide, heldTokens = new Map<string, HeldToken>() }: TokenLine,
  address: string,
  form: Record<string, string> | (() => Record<string, string>),
): () => Promise<string> {
  let hidden: string | undefined;

  async function ask(held: HeldToken): Promise<string> {
    try {
      const { access_token, expires_in } = await http.post(address, Grant, {
        form: { grant_type: 'client_credentials', ...(typeof form === 'function' ? form() : form) },
      });
      held.until = clock.monotonic() + expires_in * 1_000 - SPARE_MS;
      return access_token;
    } catch (error) {
      if (heldTokens.get(address) === held) heldTokens.delete(address); // the next call asks again
      throw error;
    }
  }
  function current(): HeldToken {
    const known = heldTokens.get(address);
    if (known && known.until > clock.monotonic()) return known;
    const held: HeldToken = { until: Infinity, token: Promise.resolve('') };
    heldTokens.set(address, held);
    held.token = ask(held);
    return held;
  }
  return async () => {
    const token = await current().token;
    if (token !== hidden) hide(token); // another connection may have asked for it
    hidden = token;
    return token;
  };
}
