import { OutboundError } from '../../platform/outbound/index.ts';
import type { ClaimedPush } from './store.ts';

/** A push is shown on a screen that is locked: it needs no more. */
const MOST_CHARACTERS = 200;

/** `unknown`: the service does not know the device. `retry`: it asks to wait, or failed. `refused`: for good. */
export type PushOutcome =
  | { outcome: 'sent' }
  | { outcome: 'unknown' | 'refused'; reason: string }
  | { outcome: 'retry'; reason: string; afterMs: number };
/** Sends once and says what came of it; never rejects. */
export type SendPush = (push: ClaimedPush) => Promise<PushOutcome>;

/** A text of a push. */
export const clip = (text: string): string => {
  const letters = [...text];
  return letters.length > MOST_CHARACTERS ? `${letters.slice(0, MOST_CHARACTERS - 1).join('')}…` : text;
};

/** `Retry-After`: seconds or a date (RFC 9110 10.2.3); none: 0. */
export function delayOfHeader(retryAfter: string | null, now: Date): number {
  if (retryAfter === null) return 0;
  const ms = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now.getTime();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** What became of a call without an answer. An address that may not be called will never be. */
export function outcomeOfFailure(error: unknown): PushOutcome {
  const reason = error instanceof Error ? error.message : 'no answer';
  if (error instanceof OutboundError && ['blocked', 'invalid'].includes(error.failure))
    return { outcome: 'refused', reason };
  return { outcome: 'retry', reason, afterMs: 0 };
}
