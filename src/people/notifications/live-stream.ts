import type { SlotHolder } from '../../platform/cache/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { idOfStreamPlace, lookForReaders, type StreamNews, type StreamPlace, type StreamReader } from './live-store.ts';
import type { NotificationRow } from './store.ts';

/** What an open page hears; `alive`: there is nothing new, and the connection goes on. */
export type LiveEvent =
  | { kind: 'notification'; id: string; row: NotificationRow }
  | { kind: 'count'; id: string; total: number }
  | { kind: 'alive' };

/** An open page: its place, and what it has still to take. */
export interface LiveStream extends SlotHolder {
  readonly reader: StreamReader;
  place: StreamPlace | undefined;
  /** As it was last told. */
  total: number | undefined;
  /** What was found and is not taken yet; `ended`: nothing follows. */
  found: readonly LiveEvent[] | 'ended' | undefined;
  arrived: PromiseWithResolvers<void>;
}

/** Puts down what the page is to take next. */
export function putFound(stream: LiveStream, found: NonNullable<LiveStream['found']>): void {
  stream.found = found;
  stream.arrived.resolve();
}

/** Waits for what is found, and takes it. */
export async function takeFound(stream: LiveStream): Promise<NonNullable<LiveStream['found']>> {
  await stream.arrived.promise;
  const found = stream.found!; // it is what has arrived
  if (found !== 'ended') {
    stream.found = undefined;
    stream.arrived = Promise.withResolvers();
  }
  return found;
}

/** Who follows, and behind which place. */
const placeOf = ({ reader: { sessionId, orgId }, place }: LiveStream): string =>
  `${sessionId} ${orgId} ${place ? idOfStreamPlace(place) : ''}`;

/** What a look found, as every page at that place hears it. */
interface News extends Pick<StreamNews, 'place' | 'total' | 'isHeld'> {
  notifications: readonly LiveEvent[];
  count: LiveEvent;
}
const eventsOf = ({ place, total, isHeld, rows }: StreamNews): News => ({
  place,
  total,
  isHeld,
  notifications: rows.map(({ place: at, ...row }) => ({ kind: 'notification', id: idOfStreamPlace(at), row })),
  count: { kind: 'count', id: idOfStreamPlace(place), total },
});

/** What is new to each; pages of one session that were told the same are one reader to the database. */
export async function newsForEach(
  sql: Database,
  some: readonly LiveStream[],
): Promise<[LiveStream, News | undefined][]> {
  const groups = [...Map.groupBy(some, placeOf).values()];
  const looks = await lookForReaders(
    sql,
    groups.map(([stream]) => stream!),
  );
  return groups.flatMap((group, n) => {
    const news = looks[n] && eventsOf(looks[n]);
    return group.map((stream): [LiveStream, News | undefined] => [stream, news]);
  });
}

/** Puts down what a look found; nothing where nothing is new, but for the sign of life. */
export function putNews(stream: LiveStream, found: News | undefined, isEvery: boolean): void {
  if (stream.found === 'ended') return;
  if (!found) return putFound(stream, 'ended');
  const { place, total, isHeld, notifications, count } = found;
  stream.place = place;
  // what is held back is counted when it is told
  const isCounted = total !== stream.total && (!isHeld || stream.total === undefined);
  if (isCounted) stream.total = total;
  const events = isCounted ? [...notifications, count] : notifications;
  if (events.length > 0) putFound(stream, events);
  else if (isEvery) putFound(stream, [{ kind: 'alive' }]);
}
