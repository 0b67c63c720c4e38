import { z } from 'zod';
import { auditActor, sessionActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('calendar');

export const calendarRoutes = [
  route({
    method: 'post',
    path: '/integrations/:id/calendar-token',
    summary: 'Create a calendar feed of a channel',
    description:
      'For the caller: its address is shown once, and whoever has it reads what the caller may read. A feed that the ' +
      'caller had of this channel before ends.',
    auth: ['session'],
    permission: 'posts:read',
    creates: true,
    answer: z.strictObject({ url: z.string() }),
    handle: ({ rooms, principal, params, request }) =>
      rooms.calendar.createFeed(principal.orgId, sessionActor({ principal, request }), params.id),
    present: (url) => ({ url }),
  }),
  route({
    method: 'delete',
    path: '/integrations/:id/calendar-token',
    summary: 'End the calendar feed of a channel',
    description: 'That of the caller.',
    auth: ['session'],
    permission: 'posts:read',
    answer: z.strictObject({ success: z.literal(true) }),
    handle: ({ rooms, principal, params, request }) =>
      rooms.calendar.removeFeed(principal.orgId, auditActor({ principal, request }), params.id),
    present: () => ({ success: true as const }),
  }),
];
