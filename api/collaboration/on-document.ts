import { notFound } from '../../src/platform/kernel/index.ts';
import type { Call } from '../http/route.ts';
import type { RoomName } from './address.ts';
import type { OpenDocument } from './document.ts';
import { sourceOf } from './kinds.ts';

/**
 * Does something with a document for a request. Whoever has it open in this or another process hears of it within
 * seconds, as of any change of another process.
 */
export async function onDocument<T>(
  {
    rooms,
    actors,
    principal: { orgId },
  }: Pick<Call<'brandKits' | 'clock' | 'designer' | 'documents' | 'logs' | 'posts'>, 'rooms' | 'actors' | 'principal'>,
  room: RoomName,
  work: (document: OpenDocument) => Promise<T>,
): Promise<T> {
  const { openDocument } = await import('./document.ts'); // with it Yjs is loaded
  const { documents, clock, logs } = rooms;
  const key = { orgId, room: room.name };
  const source = sourceOf({ ...rooms, actors }, orgId, room);
  const row = await documents.open(key, async () => {
    const found = await source.read();
    if (!found) throw notFound();
    return found.contents;
  });
  const nobody = () => undefined;
  const told = { onUpdate: nobody, onStatus: nobody, onAgents: nobody, onOtherProcess: nobody };
  return work(openDocument({ documents, clock, log: logs.of('collaboration'), key, row, source, ...told }));
}
