import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { instant } from '../../http/fields.ts';
import { type Caller, routesOf } from '../../http/route.ts';

const route = routesOf('admin');

const HOUR_SECONDS = 3_600;
/** The super-admin, in the session that the impersonation belongs to. */
const admin = ({ principal }: Pick<Caller, 'principal'>) => ({
  userId: principal.userId,
  sessionId: principal.sessionId!,
});

export default [
  route({
    method: 'post',
    path: '/admin/impersonate',
    summary: 'Start impersonating a user',
    description:
      'For an hour. With `returnToken` the answer holds what a client without cookies sends in the header `impersonate`.',
    auth: ['super-admin'],
    body: z.strictObject({
      userId: z.uuid(),
      reason: z.string().trim().min(3).max(500),
      returnToken: z.boolean().optional(),
    }),
    answer: z.strictObject({ userId: z.string(), email: z.string(), expiresAt: instant, token: z.string().optional() }),
    async handle({ rooms, body, reply, ...call }) {
      const { token, ...begun } = await rooms.admin.impersonations.begin(auditActor(call), admin(call), body);
      reply.cookie('impersonate', token, { maxAgeSeconds: HOUR_SECONDS });
      return { ...begun, ...(body.returnToken && { token }) };
    },
    present: ({ expiresAt, ...begun }) => ({ ...begun, expiresAt: expiresAt.toISOString() }),
  }),

  route({
    method: 'delete',
    path: '/admin/impersonate',
    summary: 'Stop impersonating a user',
    auth: ['super-admin'],
    answer: z.strictObject({ success: z.literal(true) }),
    async handle({ rooms, reply, ...call }) {
      await rooms.admin.impersonations.end(auditActor(call), admin(call));
      reply.cookie('impersonate', null);
    },
    present: () => ({ success: true as const }),
  }),
];
