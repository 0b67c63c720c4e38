import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('payments');

export default [
  route({
    method: 'post',
    path: '/admin/lifetime-codes',
    summary: 'Create lifetime plan codes',
    description: 'They are shown in this answer only.',
    auth: ['super-admin'],
    creates: true,
    body: z.strictObject({ count: z.int().min(1).max(100) }),
    answer: z.strictObject({ codes: z.array(z.string()) }),
    handle: ({ rooms, body, ...call }) => rooms.payments.mintCodes(auditActor(call), body.count),
    present: (codes) => ({ codes }),
  }),
];
