import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { EndedSessions, presentEndedSessions } from './shape.ts';

const route = routesOf('admin');

export default [
  route({
    method: 'post',
    path: '/admin/sessions/revoke-all',
    summary: 'End every session of the instance but this one',
    auth: ['super-admin'],
    answer: EndedSessions,
    handle: ({ rooms, principal, request }) => rooms.admin.users.endAllSessions(auditActor({ principal, request }), principal.sessionId!),
    present: presentEndedSessions,
  }),
];
