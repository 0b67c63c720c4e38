import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { EndedSessions, presentEndedSessions } from './shape.ts';

const route = routesOf('admin');

export default [
  route({
    method: 'post',
    path: '/admin/sessions/revoke-all',
    summary: 'End all other sessions of the instance',
    auth: ['super-admin'],
    answer: EndedSessions,
    handle: ({ rooms, principal, request }) =>
      rooms.admin.users.endAllSessions(auditActor({ principal, request }), principal.sessionId!),
    present: presentEndedSessions,
  }),
];
