import { z } from 'zod';
import { choiceOf, EgressShape, presentEgress, presentHealth, RouteHealth } from '../../../src/publishing/egress/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { EgressChoice } from './shape.ts';

const route = routesOf('egress');

export default [
  route({
    method: 'get',
    path: '/egress',
    summary: 'The routes that calls to networks take: those that may be chosen and how they are, what the organization chose, and each of its channels.',
    auth: ['session'],
    permission: 'channels:read',
    answer: EgressShape,
    handle: ({ rooms, principal }) => rooms.egress.overview(principal.orgId),
    present: presentEgress,
  }),
  route({
    method: 'put',
    path: '/egress',
    summary:
      'Chooses the route of all channels that choose none: `open`, or the id of a route. A route that does not work stops them; the open route is not taken instead.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: EgressChoice,
    answer: EgressShape,
    async handle(call) {
      const { rooms, principal, body } = call;
      await rooms.egress.choose(principal.orgId, choiceOf(body.route), auditActor(call));
      return rooms.egress.overview(principal.orgId);
    },
    present: presentEgress,
  }),
  route({
    method: 'post',
    path: '/egress/:id/check',
    summary: 'Asks where a route comes out, and keeps the answer; a route that does not work is an answer.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    limit: '60/hour',
    answer: RouteHealth,
    handle: ({ rooms, principal, params }) => rooms.egress.check(principal.orgId, params.id),
    present: presentHealth,
  }),
  route({
    method: 'get',
    path: '/egress/:id/places',
    summary: 'The servers that the provider of a route lists; none where it lists none.',
    auth: ['session'],
    permission: 'providers:read',
    limit: '60/hour',
    answer: z.array(z.strictObject({ id: z.string(), name: z.string(), country: z.string().nullable() })),
    handle: ({ rooms, principal, params }) => rooms.egress.places(principal.orgId, params.id),
    present: (places) => places.map(({ id, name, country }) => ({ id, name, country })),
  }),
];
