import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { logOut } from '../../http/credentials.ts';
import { routesOf } from '../../http/route.ts';
import { presentSession, Session } from './sessions.shape.ts';

const route = routesOf('auth');

const Success = z.object({ success: z.literal(true) });
const success = () => ({ success: true as const });

export default [
  route({
    method: 'get',
    path: '/user/sessions',
    summary: 'List sessions of the user',
    auth: ['session'],
    answer: z.array(Session),
    handle: async ({ rooms, principal }) => ({
      rows: await rooms.auth.sessions.list(principal.userId),
      current: principal.sessionId,
    }),
    present: ({ rows, current }) => rows.map((row) => presentSession(row, current)),
  }),

  route({
    method: 'post',
    path: '/user/sessions/revoke-all',
    summary: 'End all sessions and log out',
    description: 'This session included.',
    auth: ['session'],
    answer: Success.extend({ revoked: z.int() }),
    async handle({ rooms, reply, ...call }) {
      const revoked = await rooms.auth.sessions.revokeAll(auditActor(call));
      logOut(reply);
      return revoked;
    },
    present: (revoked) => ({ ...success(), revoked }),
  }),

  route({
    method: 'post',
    path: '/user/sessions/:id/revoke',
    summary: 'End one own session',
    auth: ['session'],
    answer: Success,
    async handle({ rooms, params, reply, ...call }) {
      await rooms.auth.sessions.revoke(auditActor(call), params.id);
      if (params.id === call.principal.sessionId) logOut(reply);
    },
    present: success,
  }),
];
