import { auditActor } from '../../http/audit-actor.ts';
import { route } from '../../http/route.ts';
import { EndedSessions, presentEndedSessions } from './shape.ts';

export default [
  route({
    method: 'post',
    path: '/admin/sessions/revoke-all',
    summary: 'End every session of the instance but this one',
    auth: ['super-admin'],
    answer: EndedSessions,
    handle: ({ ctx, principal, request }) => ctx.admin.users.endAllSessions(auditActor({ principal, request }), principal.sessionId!),
    present: presentEndedSessions,
  }),
];
