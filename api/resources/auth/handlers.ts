import { z } from 'zod';
import { logOut } from '../../http/credentials.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('auth');

/** `/auth/logout` and `/user/logout` are the same route. */
export const logoutRoute = (path: '/auth/logout' | '/user/logout') =>
  route({
    method: 'post',
    path,
    summary: 'End all own sessions',
    auth: ['session'],
    impersonation: 'ignored',
    answer: z.object({ logout: z.literal(true) }),
    async handle({ rooms, reply, ...call }) {
      await rooms.auth.sessions.revokeAll(auditActor(call), 'logged_out');
      logOut(reply);
    },
    present: () => ({ logout: true as const }),
  });
