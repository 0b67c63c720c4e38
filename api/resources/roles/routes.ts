import { z } from 'zod';
import { ACTIONS, PERMISSIONS, RESOURCES } from '../../../src/people/access/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { nameText } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { presentRole, Role, systemRoles } from './shape.ts';

const route = routesOf('members');

const name = nameText(1, 100);
const permissions = z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length);
/** The id of a system role is its key. */
const OneRole = z.object({ id: z.string() });

export default [
  route({
    method: 'get',
    path: '/roles',
    summary: 'List roles',
    description: 'The five system roles, then those of the organization by name.',
    auth: ['session'],
    permission: 'roles:read',
    answer: z.array(Role),
    handle: ({ rooms, principal }) => rooms.members.roles.list(principal.orgId),
    present: (rows) => [...systemRoles, ...rows.map(presentRole)],
  }),

  route({
    method: 'get',
    path: '/roles/catalog',
    summary: 'List permission resources and actions',
    auth: ['session'],
    permission: 'roles:read',
    answer: z.object({ resources: z.array(z.string()), actions: z.array(z.string()) }),
    handle: async () => ({ resources: [...RESOURCES], actions: [...ACTIONS] }),
    present: (catalog) => catalog,
  }),

  route({
    method: 'post',
    path: '/roles',
    summary: 'Create a custom role',
    description: 'It grants no more than its maker holds.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'roles:create',
    creates: true,
    body: z.strictObject({ name, permissions }),
    answer: Role,
    handle: ({ rooms, principal, body, request }) =>
      rooms.members.roles.create(principal.orgId, auditActor({ principal, request }), body),
    present: presentRole,
  }),

  route({
    method: 'put',
    path: '/roles/:id',
    summary: 'Change a custom role',
    description: 'For its members it holds at once.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'roles:update',
    params: OneRole,
    body: z.strictObject({ name: name.optional(), permissions: permissions.optional() }),
    answer: Role,
    handle: ({ rooms, principal, params, body, request }) =>
      rooms.members.roles.change(principal.orgId, auditActor({ principal, request }), params.id, body),
    present: presentRole,
  }),

  route({
    method: 'delete',
    path: '/roles/:id',
    summary: 'Delete an unused role',
    auth: ['session'],
    permission: 'roles:delete',
    params: OneRole,
    answer: z.object({ success: z.literal(true) }),
    handle: ({ rooms, principal, params, request }) =>
      rooms.members.roles.remove(principal.orgId, auditActor({ principal, request }), params.id),
    present: () => ({ success: true as const }),
  }),
];
