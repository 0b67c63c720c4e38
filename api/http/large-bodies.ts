import { openLimiter } from '../../src/platform/flow/index.ts';
import { LIMIT } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';

/** Large bodies that are in memory at a time, and requests of one organization that may wait for a place. */
const AT_ONCE = 2;
const MOST_WAITING = 4;

/** Deals the places for large bodies of this process. */
export interface LargeBodies {
  /** Waits for a place, organizations taking turns. Throws `busy` where too many of this one wait already. */
  enter(orgId: string): Promise<Disposable>;
}

/** Opens the places: however many large bodies come at once, they cost the memory of two. */
export const openLargeBodies = (): LargeBodies =>
  openLimiter({ total: AT_ONCE, perOwner: 'share', waitingOfOne: MOST_WAITING });

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
