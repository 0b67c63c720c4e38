import { AppError, invalidField, ProviderError } from '../../platform/kernel/index.ts';
import { type ContentPackAdapter, LONGEST_QUERY, type Kind } from '../../providers/registry/index.ts';

/** Refuses what this source cannot be asked. */
export function judgeSearch(
  { title, kinds, longestQuery = LONGEST_QUERY }: Pick<ContentPackAdapter, 'title' | 'kinds' | 'longestQuery'>,
  { q, kind }: { q: string; kind: Kind },
): void {
  if (q.length > longestQuery) throw invalidField('q', `at most ${longestQuery} characters for ${title}`, 'too_big');
  if (!kinds.includes(kind)) throw invalidField('type', `${title} has no ${kind}s here`, 'unsupported');
}

const ID = /^[\w-]{1,100}$/;
/** What may be put into the path of a source. */
export const isItemId = (id: string): boolean => ID.test(id);

export const tooMany = (title: string, retryAfterMs: number) =>
  new AppError('rate_limited', `${title} takes no more requests for now: try again later`, { retryAfterMs });

const USUAL_WAIT_MS = 60_000;
/** How long a source is left alone after it refused for there being too many requests; undefined: it did not. */
export const retryAfterOf = (error: unknown): number | undefined =>
  error instanceof ProviderError && error.failure === 'rate_limited'
    ? Math.max(error.retryAfterMs ?? USUAL_WAIT_MS, 1_000)
    : undefined;

/**
 * What the refusal of a source means for whoever asked: what a person can settle there is a conflict, not a fault of
 * the service.
 */
export function refusalOf(error: unknown, title: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { failure, message } = error;
  switch (failure) {
    case 'rate_limited':
      return tooMany(title, retryAfterOf(error)!);
    case 'reauthorize':
    case 'exhausted':
    case 'rejected':
    case 'unsupported':
      return new AppError('conflict', message, { failure }, { cause: error });
    case 'unavailable':
    case 'lost':
      return error;
  }
}
