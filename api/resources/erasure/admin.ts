import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { presentReceipt, Receipt } from './shape.ts';

const route = routesOf('erasure');

const Body = z
  .strictObject({
    userId: z.string().min(1).max(64).optional(),
    orgId: z.string().min(1).max(64).optional(),
    reason: z.string().trim().min(1).max(500),
    dryRun: z.boolean().default(false),
  })
  .refine(({ userId, orgId }) => (userId === undefined) !== (orgId === undefined), {
    path: ['userId'],
    message: 'name either userId or orgId',
  })
  .meta({ examples: [{ userId: '0199b1c4-7f00-7000-8000-000000000001', reason: 'Asked by mail', dryRun: true }] });

export default [
  route({
    method: 'post',
    path: '/admin/erasure',
    summary: 'Delete a user or an organization for good',
    description:
      'What happens 30 days after a deletion otherwise. Answers the rows and objects that went, by table and storage, and keeps that as a receipt that names nobody; the reason is kept with it. `dryRun` only counts. Called again it answers the receipt. `waiting`: the organization goes within an hour after the payment processor was told. 409 for the last owner of an organization with other members, and for the last super-admin.',
    auth: ['super-admin'],
    body: Body,
    answer: Receipt,
    handle: ({ rooms, principal, request, body: { userId, orgId, reason, dryRun } }) =>
      rooms.erasure.erase(
        { ...auditActor({ principal, request }), userId: principal.userId },
        { kind: userId === undefined ? 'org' : 'user', id: (userId ?? orgId)!, reason, dryRun }, // the body has one
      ),
    present: presentReceipt,
  }),
];
