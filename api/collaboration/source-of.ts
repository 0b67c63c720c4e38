import type { Context } from '../../src/context.ts';
import type { RoomName } from './address.ts';
import { groupSource } from './group-source.ts';
import { postSource, type Source } from './source.ts';

/** What a room is made of and saved to. */
export const sourceOf = (context: Pick<Context, 'posts' | 'actors'>, orgId: string, room: RoomName): Source =>
  room.kind === 'post' ? postSource(context, orgId, room.id) : groupSource(context, orgId, room.id);
