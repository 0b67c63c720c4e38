import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import { type Incoming, type ReceivedFile, tooLarge } from './incoming.ts';

/** The other side answered, with something that is no file. */
class FetchRefused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`The address answered with status ${status}`);
    this.status = status;
  }
}

export interface Remote {
  url: string;
  /** Go to the origin of `url` only. */
  headers?: Readonly<Record<string, string>> | undefined;
}

const FETCH_MS = 120_000;

/** Fetches a file of at most `maxBytes` through the outbound guard; `taking` as in `Incoming`. */
export type FetchFile = (remote: Remote, maxBytes: number, taking?: (bytes: number) => void) => Promise<ReceivedFile>;

export const openRemote =
  ({ outbound, incoming }: { outbound: Pick<Outbound, 'stream'>; incoming: Incoming }): FetchFile =>
  async ({ url, headers = {} }, maxBytes, taking) => {
    const answer = await outbound.stream(url, { maxBytes, timeoutMs: FETCH_MS, headers });
    if (answer.status !== 200) {
      answer.cancel();
      throw new FetchRefused(answer.status);
    }
    const received = await incoming.receive(answer.body, maxBytes, taking);
    if (received.size > 0) return received;
    await received[Symbol.asyncDispose]();
    throw new FetchRefused(200);
  };

export function nameOfUrl(url: string): string | undefined {
  const last = URL.canParse(url) ? new URL(url).pathname.split('/').at(-1)! : '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** What a failed fetch means for whoever typed the address (S148). */
export function asInputError(error: unknown, maxBytes: number): unknown {
  if (error instanceof OutboundError && error.failure === 'too_large') return tooLarge(maxBytes);
  if (error instanceof OutboundError && (error.failure === 'invalid' || error.code === 'blocked_url'))
    return error.ofField('url');
  const unreachable =
    error instanceof FetchRefused || (error instanceof OutboundError && error.code === 'provider_failed');
  return unreachable ? new AppError('invalid_request', 'Failed to fetch URL', {}, { cause: error }) : error;
}

/**
 * What a failure of the storage means for the post: the network has not been asked, and its login has nothing to do
 * with the storage's.
 */
export function ofStorage(error: unknown): unknown {
  if (!(error instanceof ProviderError) || error.failure === 'rejected' || error.failure === 'unavailable')
    return error;
  return new ProviderError('unavailable', `The storage of a picture or video: ${error.message}`, {
    cause: error,
    retryAfterMs: error.retryAfterMs,
  });
}

/** What a failed fetch means for the post: the same request can succeed later, or never. */
export function asProviderError(error: unknown, url: string): unknown {
  const where = URL.canParse(url) ? new URL(url).host : 'the address';
  const later = () =>
    new ProviderError('unavailable', `A picture or video cannot be fetched from ${where} at the moment`, {
      cause: error,
    });
  if (error instanceof FetchRefused)
    return error.status >= 500 || error.status === 429 || error.status === 408
      ? later()
      : new ProviderError('rejected', `A picture or video is not there any more: ${where} answered ${error.status}`, {
          cause: error,
        });
  if (error instanceof OutboundError && ['unreachable', 'interrupted', 'timeout'].includes(error.failure))
    return later();
  if (error instanceof ProviderError) return ofStorage(error);
  if (error instanceof AppError)
    return new ProviderError(error.status >= 500 ? 'unavailable' : 'rejected', error.message, { cause: error });
  return error;
}
