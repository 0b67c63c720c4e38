import { z } from 'zod';
import { AppError, notFound } from '../../../src/platform/kernel/index.ts';
import { readRoom, type RoomName } from '../../collaboration/address.ts';
import { authorOfRoom } from '../../collaboration/kinds.ts';
import { onDocument } from '../../collaboration/on-document.ts';
import { credentialOf, coAuthorOf, rightsOf } from '../../collaboration/rights.ts';
import { authorOf } from '../../http/own.ts';
import { type Call, routesOf } from '../../http/route.ts';
import {
  presentTicket,
  presentVersion,
  presentVersionWithContents,
  Ticket,
  Version,
  VersionWithContents,
} from './shape.ts';

const route = routesOf('auth', 'brandKits', 'clock', 'designer', 'documents', 'logs', 'posts');
type Needs = Pick<Call<'brandKits' | 'designer' | 'posts'>, 'rooms' | 'principal'>;

// Which permission a room asks for depends on its kind, so the ladder asks for none.

/** The room of a name, for who may read or write it. Throws `not_found`, `forbidden`. */
async function roomOf({ rooms, principal }: Needs, name: string, wanted: 'read' | 'write'): Promise<RoomName> {
  const room = readRoom(name);
  if (!room) throw notFound();
  // whoever may read nothing is not told what there is
  if (rightsOf(principal, room, undefined) === 'none')
    throw new AppError('forbidden', 'Your role may not read this document');
  const author = await authorOfRoom(rooms, principal.orgId, room);
  if (author === undefined) throw notFound();
  if (wanted === 'write' && rightsOf(principal, room, author) !== 'write')
    throw new AppError('forbidden', 'Your role may not change this document');
  return room;
}
const keyOf = ({ principal }: Needs, room: RoomName) => ({ orgId: principal.orgId, room: room.name });

const name = z.string().min(1).max(300);
const Params = z.object({ room: name });
const VersionParams = Params.extend({ id: z.string().max(255) });

export default [
  route({
    method: 'post',
    path: '/collaboration/ticket',
    summary: 'Get a ticket for a co-editing room',
    description:
      'For `?token=` of the websocket `/collaboration/:room`, where no header can be set. It opens this room for ten minutes, any number of times, and dies with the session, key or token that asked for it.',
    auth: ['session', 'api-key', 'oauth'],
    body: z.strictObject({ room: name }),
    answer: Ticket,
    async handle(call) {
      const room = await roomOf(call, call.body.room, 'read');
      const credential = credentialOf(call.principal);
      if (!credential) throw new AppError('forbidden', 'Nobody opens a document as somebody else');
      const { kind, id: cid, userId: sub, orgId: org } = credential;
      return call.rooms.auth.tokens.signCollaboration({ sub, org, room: room.name, kind, cid });
    },
    present: presentTicket,
  }),
  route({
    method: 'get',
    path: '/collaboration/:room/versions',
    summary: 'List versions of a co-edited document',
    description: 'The latest first; a hundred at most, each kept for 90 days.',
    auth: ['session', 'api-key', 'oauth'],
    params: Params,
    answer: z.array(Version),
    async handle(call) {
      const room = await roomOf(call, call.params.room, 'read');
      return call.rooms.documents.listVersions(keyOf(call, room));
    },
    present: (rows) => rows.map(presentVersion),
  }),
  route({
    method: 'post',
    path: '/collaboration/:room/versions',
    summary: 'Keep a version of a co-edited document',
    auth: ['session', 'api-key', 'oauth'],
    impersonation: 'refused',
    creates: true,
    params: Params,
    body: z.strictObject({ label: z.string().trim().min(1).max(255).optional() }),
    answer: VersionWithContents,
    async handle(call) {
      const room = await roomOf(call, call.params.room, 'write');
      const id = await onDocument(call, room, (document) => document.keep('manual', call.body.label ?? null));
      return call.rooms.documents.getVersion(keyOf(call, room), id ?? '');
    },
    present: presentVersionWithContents,
  }),
  route({
    method: 'get',
    path: '/collaboration/:room/versions/:id',
    summary: 'Get a version of a co-edited document',
    auth: ['session', 'api-key', 'oauth'],
    params: VersionParams,
    answer: VersionWithContents,
    async handle(call) {
      const room = await roomOf(call, call.params.room, 'read');
      return call.rooms.documents.getVersion(keyOf(call, room), call.params.id);
    },
    present: presentVersionWithContents,
  }),
  route({
    method: 'post',
    path: '/collaboration/:room/versions/:id/restore',
    summary: 'Restore a version of a co-edited document',
    description:
      'As one more change, so that whoever has it open goes on; what it said before is a version. Of an `agent_edit` this one edit is taken back, and what was typed since stays.',
    auth: ['session', 'api-key', 'oauth'],
    impersonation: 'refused',
    params: VersionParams,
    answer: VersionWithContents,
    async handle(call) {
      const room = await roomOf(call, call.params.room, 'write');
      const version = await call.rooms.documents.getVersion(keyOf(call, room), call.params.id);
      await onDocument(call, room, (document) =>
        document.restore(version, authorOf(call.principal), coAuthorOf(call.principal)),
      );
      return version;
    },
    present: presentVersionWithContents,
  }),
];
