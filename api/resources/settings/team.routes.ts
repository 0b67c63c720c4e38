import { z } from 'zod';
import type { Members } from '../../../src/people/members/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { invite, InvitationBody } from '../members/handlers.ts';

const route = routesOf('auth', 'cache', 'clock', 'config', 'members');

// The members under the names that older consoles know (S46).

const Team = z.object({
  users: z.array(z.object({ user: z.object({ id: z.string(), email: z.string() }), role: z.string() })),
});
const presentTeam = (rows: Awaited<ReturnType<Members['list']>>) => ({
  users: rows.map(({ id, email, roleKey }) => ({ user: { id, email }, role: roleKey })),
});

export default [
  route({
    method: 'get',
    path: '/settings/team',
    summary: 'List members of the organization',
    auth: ['session'],
    permission: 'members:read',
    answer: Team,
    handle: ({ rooms, principal }) => rooms.members.list(principal.orgId),
    present: presentTeam,
  }),

  route({
    method: 'post',
    path: '/settings/team',
    summary: 'Invite a person into the organization',
    auth: ['session'],
    impersonation: 'refused',
    permission: 'members:create',
    planLimit: 'team_members',
    creates: true,
    body: InvitationBody,
    answer: z.object({ url: z.string() }),
    handle: invite,
    present: ({ url }) => ({ url }),
  }),

  route({
    method: 'delete',
    path: '/settings/team/:id',
    summary: 'Remove a member from the organization',
    auth: ['session'],
    permission: 'members:delete',
    answer: z.object({ success: z.literal(true) }),
    handle: ({ rooms, principal, params, request }) =>
      rooms.members.remove(principal.orgId, auditActor({ principal, request }), params.id),
    present: () => ({ success: true as const }),
  }),
];
