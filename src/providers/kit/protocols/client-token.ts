import { z } from 'zod';
import type { Line } from '../declare/line.ts';

const Grant = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive() });
/** A token is renewed this long before it expires. */
const SPARE_MS = 60_000;

/**
 * Gets an access token when one is needed, by client credentials (RFC 6749 4.4) unless the form names another grant, and
 * keeps it until it expires.
 */
export function clientToken(
  { http, clock, hide }: Pick<Line<'http'>, 'http' | 'clock' | 'hide'>,
  address: string,
  form: Record<string, string> | (() => Record<string, string>),
): () => Promise<string> {
  let held: { until: number; token: Promise<string> } | undefined;

  async function ask(): Promise<string> {
    try {
      const { access_token, expires_in } = await http.post(address, Grant, {
        form: { grant_type: 'client_credentials', ...(typeof form === 'function' ? form() : form) },
      });
      hide(access_token);
      held!.until = clock.monotonic() + expires_in * 1_000 - SPARE_MS;
      return access_token;
    } catch (error) {
      held = undefined; // the next call asks again
      throw error;
    }
  }
  return () => {
    if (!held || held.until <= clock.monotonic()) {
      held = { until: Infinity, token: Promise.resolve('') };
      held.token = ask();
    }
    return held.token;
  };
}
