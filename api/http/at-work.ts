import { type Limiter, openLimiter } from '../../src/platform/flow/index.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';
import { wantsEvents } from './server-events.ts';

/**
 * Requests of one process whose handlers run at a time. What they wait for, the database above all, has no bound of its
 * own: beyond this a caller learns at once that it is too much, and when to come again (R15).
 */
const AT_WORK = 4_000;

/** Opens the places for handlers; one organization has half of them, and nobody waits for one. */
export const openAtWork = (total = AT_WORK): Limiter => openLimiter({ total, perOwner: 'share', waiting: 0 });

/** Whole lists that wait in one process; an organization has half of these places. */
const LISTS_WAITING = 200;

/**
 * Opens the place for lists of any length. One of ten thousand posts keeps processor and database busy for a tenth of a
 * second, so that many at a time would hold up whatever else the process does, such as publishing.
 */
export const openWholeLists = (): Limiter => openLimiter({ total: 1, waiting: LISTS_WAITING });

/**
 * Takes a place for the handler of a request. Streams have none: they last as long as somebody listens or sends, and
 * each is a connection, which are counted; and a place is given back before a file or a CSV is sent.
 * @throws AppError `busy` where none is free
 */
export async function placeForWork(
  { request, principal }: Pick<Exchange, 'request' | 'principal'>,
  { events, isStream, input }: Pick<AnyRoute, 'events' | 'isStream' | 'input'>,
  places: Limiter,
): Promise<Disposable | undefined> {
  if (input === 'stream' || (events && wantsEvents(request.headers['accept'], isStream))) return undefined;
  return places.enter(principal?.orgId ?? '');
}
