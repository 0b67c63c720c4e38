import { type Outbound, OutboundError } from '../../../platform/outbound/index.ts';
import { USER_AGENT } from './connection.ts';
import type { WebPages } from './web-pages.ts';

/** Opens the tool `pages`. */
export const openWebPages =
  (outbound: Pick<Outbound, 'fetch'>): WebPages =>
  async (url, { accept, timeoutMs, maxBytes, cut }) => {
    try {
      const answer = await outbound.fetch(url, {
        headers: { accept, 'user-agent': USER_AGENT },
        timeoutMs,
        maxBytes,
        onTooLarge: cut ? 'cut' : 'fail',
      });
      if (answer.status < 200 || answer.status > 299) return undefined;
      return { url: answer.url, contentType: answer.headers.get('content-type') ?? '', bytes: answer.body };
    } catch (error) {
      if (error instanceof OutboundError) return undefined;
      throw error;
    }
  };
