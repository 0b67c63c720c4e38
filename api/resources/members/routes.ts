import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { instant } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { invite, InvitationBody, named } from './handlers.ts';
import { Invitation, Member, presentInvitation, presentMember } from './shape.ts';

const route = routesOf('auth', 'cache', 'clock', 'config', 'members');

const MadeInvitation = z.object({
  id: z.string(),
  email: z.string(),
  role: z.string(),
  roleId: z.string(),
  url: z.string(),
  expiresAt: instant,
});
const Success = z.object({ success: z.literal(true) });
const success = () => ({ success: true as const });

export default [
  route({
    method: 'get',
    path: '/members',
    summary: 'List members',
    description: 'In the order in which they joined.',
    auth: ['session'],
    permission: 'members:read',
    answer: z.array(Member),
    handle: ({ rooms, principal }) => rooms.members.list(principal.orgId),
    present: (rows) => rows.map(presentMember),
  }),

  route({
    method: 'put',
    path: '/members/:id',
    summary: 'Change the role or status of a member',
    description: '`disabled` disables the membership, or enables it again.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:update',
    planLimit: 'team_members',
    body: z.strictObject({ ...named, disabled: z.boolean().optional() }),
    answer: Member,
    handle: ({ rooms, principal, params, body, request }) =>
      rooms.members.change(principal.orgId, auditActor({ principal, request }), params.id, body),
    present: presentMember,
  }),

  route({
    method: 'delete',
    path: '/members/:id',
    summary: 'Remove a member',
    description: 'Keys and tokens of the membership end at once; what the member made stays.',
    auth: ['session'],
    permission: 'members:delete',
    answer: Success,
    handle: ({ rooms, principal, params, request }) =>
      rooms.members.remove(principal.orgId, auditActor({ principal, request }), params.id),
    present: success,
  }),

  route({
    method: 'get',
    path: '/members/invitations',
    summary: 'List open invitations',
    description: 'Newest first.',
    auth: ['session'],
    permission: 'members:read',
    answer: z.array(Invitation),
    handle: ({ rooms, principal }) => rooms.members.invitations.list(principal.orgId),
    present: (rows) => rows.map(presentInvitation),
  }),

  route({
    method: 'post',
    path: '/members/invitations',
    summary: 'Invite a person by email',
    description:
      'The link works once, for seven days, and is answered here only; an earlier invitation of the address ends.',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:create',
    planLimit: 'team_members',
    creates: true,
    body: InvitationBody,
    answer: MadeInvitation,
    handle: invite,
    present: (made) => ({ ...made, expiresAt: made.expiresAt.toISOString() }),
  }),

  route({
    method: 'delete',
    path: '/members/invitations/:id',
    summary: 'Withdraw an invitation',
    auth: ['session'],
    permission: 'members:delete',
    answer: Success,
    handle: ({ rooms, principal, params, request }) =>
      rooms.members.invitations.withdraw(principal.orgId, auditActor({ principal, request }), params.id),
    present: success,
  }),
];
