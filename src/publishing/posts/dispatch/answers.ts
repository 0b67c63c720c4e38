import { isBusy, ProviderError } from '../../../platform/kernel/index.ts';
import { type AttemptOutcome, HeldBack, Release } from './attempt.ts';
import type { LookedUp } from './look-up.ts';

// What networks answer, as outcomes of an attempt.

/** What a provider says is kept in rows: no U+0000, no half characters, not without end. */
export const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed().slice(0, 2_000);

export const cleanJson = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, inner: unknown) =>
    typeof inner === 'string' ? inner.replaceAll('\0', '').toWellFormed() : inner,
  );

export type Failure = Extract<AttemptOutcome, { mediaFault?: boolean }>;

/** The outcome of a provider's failure, and of a full queue before it; undefined for any other error. */
export const failureOf = (error: unknown): Failure | undefined => {
  if (isBusy(error)) return { kind: 'unavailable', message: error.message };
  return error instanceof ProviderError
    ? { kind: error.failure, message: clean(error.message), reason: error.reason, retryAfterMs: error.retryAfterMs }
    : undefined;
};

/** The outcome of a failure before anything public was asked for: it may be tried again. */
export const failureBefore = (error: unknown): Failure | undefined => {
  const known = failureOf(error);
  return known?.kind === 'lost' ? { ...known, kind: 'unavailable' } : known;
};

/** An answer that cannot be read is lost: the post may be out. */
export function released(answer: unknown): AttemptOutcome {
  const heldBack = HeldBack.safeParse(answer);
  if (heldBack.success) return { kind: 'held', message: clean(heldBack.data.held) };
  const release = Release.safeParse(answer);
  if (!release.success) return { kind: 'lost', message: 'The network answered something that cannot be read' };
  const { id, url, saved } = release.data;
  return {
    kind: 'published',
    release: { id: clean(id), url: clean(url), ...(saved !== undefined && { saved: cleanJson(saved) }) },
  };
}

const LEAST_MS = 1_000;
/** When to ask again, as an adapter says it. */
export const waitOf = (ms: number): number => Math.max(LEAST_MS, ms);

/**
 * A post of the network that may be another post's is never taken for it: a person decides, unless the other post is
 * about to be settled.
 */
export const unclear = ({ similar, pending }: Extract<LookedUp, { kind: 'unclear' }>): AttemptOutcome =>
  pending
    ? {
        kind: 'lost',
        message:
          'The network shows a post like this one, and another post of the channel that it may be is not settled yet',
      }
    : {
        kind: 'undecided',
        message: 'The network shows posts that look like this one: name its release, or retry with confirm',
        similar: similar.map(({ id, url }) => ({ id: clean(id), url: clean(url) })),
      };
