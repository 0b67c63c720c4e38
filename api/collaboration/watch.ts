import type { Context } from '../../src/context.ts';
import type { Principal } from '../http/route.ts';
import type { RoomName } from './address.ts';
import { CLOSE, type Connection } from './connection.ts';
import type { LiveRoom } from './live-room.ts';
import { type Credential, credentialOf, principalsOf, rightsOf } from './rights.ts';
import { sourceOf } from './kinds.ts';

/** A room that is open in this process. */
export interface Watched {
  orgId: string;
  room: RoomName;
  live: LiveRoom;
}

/**
 * Asks again who everybody is and what they may do, each credential once: who lost it or the right to read is closed.
 */
export async function judgeRights(context: Context, rooms: readonly Watched[]): Promise<void> {
  const asked = new Map<string, { credential: Credential; of: [Connection, LiveRoom][] }>();
  for (const { live } of rooms)
    for (const connection of live.connections) {
      const credential = credentialOf(connection.principal);
      if (!credential) continue;
      const { kind, id, userId, orgId } = credential;
      const name = `${kind} ${id} ${userId} ${orgId}`;
      const one = asked.get(name);
      if (one) one.of.push([connection, live]);
      else asked.set(name, { credential, of: [[connection, live]] });
    }
  const all = [...asked.values()];
  const principals = await principalsOf(
    context,
    all.map(({ credential }) => credential),
  );
  for (const [n, { of }] of all.entries()) for (const [connection, live] of of) judge(connection, live, principals[n]);
}

function judge(connection: Connection, live: LiveRoom, principal: Principal | undefined): void {
  if (!principal) return connection.close(CLOSE.notAuthenticated, 'The credential has ended');
  const rights = rightsOf(principal, connection.room, connection.author);
  if (rights === 'none') connection.close(CLOSE.noRight, 'No right to read this');
  const mayWriteNow = rights === 'write' && connection.rights !== 'write';
  connection.principal = principal;
  connection.rights = rights;
  // what it typed before, and was refused, is what all that it types from now on lies behind
  if (mayWriteNow) live.ask(connection);
}

/**
 * Looks whether documents were written elsewhere, and what they stand for was changed: two statements for all rooms of
 * posts, and what each other room is read by.
 */
export async function lookAtSources(context: Context, rooms: readonly Watched[]): Promise<void> {
  const { documents, posts } = context;
  const single = rooms.filter(({ room }) => room.kind === 'post');
  const [versions, revisions] = await Promise.all([
    documents.versionsOf(rooms.map(({ live }) => live.document.key)),
    posts.findRevisions(single.map(({ orgId, room }) => ({ orgId, postId: room.id }))),
  ]);
  const revisionOf = new Map(single.map(({ live }, n) => [live, revisions[n]]));
  await Promise.all(
    rooms.map(async ({ room, orgId, live }, n) => {
      const revision = revisionOf.get(live);
      const found =
        room.kind !== 'post'
          ? await sourceOf(context, orgId, room).read()
          : revision && !revision.isDeleted
            ? { version: String(revision.version), closed: revision.isOpen ? null : ('published' as const) }
            : undefined;
      await live.document.look(versions[n], found);
    }),
  );
}
