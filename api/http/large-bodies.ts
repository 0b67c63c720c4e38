import { openLimiter } from '../../src/platform/flow/index.ts';
import { busy } from '../../src/platform/kernel/index.ts';
import { LIMIT } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';

/** Large bodies that are in memory at a time, and requests of one organization that may wait for a place. */
const AT_ONCE = 2;
const MOST_WAITING = 4;
const RETRY_MS = 2_000;

/** Deals the places for large bodies of this process. */
export interface LargeBodies {
  /** Waits for a place, organizations taking turns. Throws `busy` where too many of this one wait already. */
  enter(orgId: string): Promise<Disposable>;
}

/** Opens the places: however many large bodies come at once, they cost the memory of two. */
export function openLargeBodies(): LargeBodies {
  const limiter = openLimiter({ total: AT_ONCE, perOwner: 'share' });
  const waiting = new Map<string, number>();
  return {
    async enter(orgId) {
      const ahead = waiting.get(orgId) ?? 0;
      if (ahead >= MOST_WAITING) throw busy(RETRY_MS);
      waiting.set(orgId, ahead + 1);
      try {
        return await limiter.enter(orgId);
      } finally {
        const left = waiting.get(orgId)! - 1; // this one was counted
        if (left > 0) waiting.set(orgId, left);
        else waiting.delete(orgId);
      }
    },
  };
}

/** Waits for a place before a body is read that is larger than most routes take; undefined for a usual body. */
export async function placeForBody(
  { request, principal }: Pick<Exchange, 'request' | 'principal'>,
  { bodyLimit = LIMIT }: Pick<AnyRoute, 'bodyLimit'>,
  bodies: LargeBodies,
): Promise<Disposable | undefined> {
  const { 'content-length': length } = request.headers;
  if (bodyLimit <= LIMIT || (length !== undefined && Number(length) <= LIMIT)) return undefined;
  return bodies.enter(principal?.orgId ?? '');
}
