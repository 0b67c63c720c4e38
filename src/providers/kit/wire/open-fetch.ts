import type { Outbound } from '../../../platform/outbound/index.ts';
import { ANSWER_BYTES } from '../declare/adapter.ts';
import type { Fetch } from './fetch.ts';

const WITHOUT_BODY = new Set([204, 205, 304]);

/** Opens the tool `fetch`. */
export const openFetch =
  (outbound: Pick<Outbound, 'fetch'>, timeoutMs: number): Fetch =>
  async (url, { method, headers, body, signal }) => {
    const answer = await outbound.fetch(url, {
      method,
      headers,
      timeoutMs,
      maxBytes: ANSWER_BYTES,
      redirects: 'none',
      ...(body && { body: body instanceof URLSearchParams ? body.toString() : body }), // libraries pass null for no body
      ...(signal && { signal }),
    });
    return new Response(WITHOUT_BODY.has(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: answer.headers,
    });
  };
