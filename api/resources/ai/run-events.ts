import { principalOf } from '../../http/authenticate.ts';
import type { Call } from '../../http/route.ts';
import type { ServerEvent } from '../../http/server-events.ts';
import { presentRunEvent } from './designer.shape.ts';

type Following = Pick<Call<'auth' | 'runs'>, 'rooms' | 'principal' | 'request'>;

/**
 * The events of a run, from the one after `Last-Event-ID` on, for as long as the reader's session may read them.
 * @throws AppError `rate_limited` for who follows too many
 */
export async function* eventsOfRun(
  { rooms, principal: { orgId, userId, sessionId }, request }: Following,
  id: string,
  gone: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const after = /^\d{1,9}$/.exec(request.headers['last-event-id'] ?? '');
  const followed = rooms.runs.follow(
    { orgId, id, userId },
    {
      after: Number(after?.[0] ?? 0),
      ends: AbortSignal.any([gone, request.ending]),
      async mayRead() {
        const session = sessionId!; // a session has its id
        const [holder] = await rooms.auth.sessions.findHolders([{ sessionId: session, userId, orgId }]);
        return holder !== undefined && principalOf('session', holder, {}).permissions.has('ai:read');
      },
    },
  );
  for await (const event of followed) yield presentRunEvent(event);
}
