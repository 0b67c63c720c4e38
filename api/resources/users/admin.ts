import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { SearchPage } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { EndedSessions, presentEndedSessions } from '../sessions/shape.ts';
import { presentUser, User } from './shape.ts';

const route = routesOf('admin');

export default [
  route({
    method: 'get',
    path: '/admin/users',
    summary: 'List users of the instance',
    description: 'Newest first.',
    auth: ['super-admin'],
    query: SearchPage,
    answer: z.strictObject({ items: z.array(User), nextCursor: z.string().nullable() }),
    handle: ({ rooms, query }) => rooms.admin.users.list(query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentUser), nextCursor }),
  }),

  route({
    method: 'patch',
    path: '/admin/users/:id',
    summary: 'Change the activation or super-admin flag of a user',
    description: '409 for the last super-admin.',
    auth: ['super-admin'],
    body: z
      .strictObject({ activated: z.boolean().optional(), isSuperAdmin: z.boolean().optional() })
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'name what is to change: activated or isSuperAdmin',
      ),
    answer: User,
    handle: ({ rooms, principal, params, body, request }) =>
      rooms.admin.users.change(auditActor({ principal, request }), params.id, body),
    present: presentUser,
  }),

  route({
    method: 'post',
    path: '/admin/users/:id/sessions/revoke-all',
    summary: 'End all sessions of a user',
    auth: ['super-admin'],
    answer: EndedSessions,
    handle: ({ rooms, principal, params, request }) =>
      rooms.admin.users.endSessions(auditActor({ principal, request }), params.id),
    present: presentEndedSessions,
  }),
];
