import { z } from 'zod';
import { choiceOf } from '../../../src/publishing/egress/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { EgressChoice, EgressShape, presentEgress, presentHealth, RouteHealth } from './shape.ts';

const route = routesOf('egress');

export default [
  route({
    method: 'get',
    path: '/egress',
    summary: 'List egress routes and their channels',
    description:
      'The routes that may be chosen and their health, the choice of the organization, and that of each channel.',
    auth: ['session'],
    permission: 'channels:read',
    answer: EgressShape,
    handle: ({ rooms, principal }) => rooms.egress.overview(principal.orgId),
    present: presentEgress,
  }),
  route({
    method: 'put',
    path: '/egress',
    summary: 'Choose the default egress route of the organization',
    description:
      '`open`, or the id of a route; it holds for all channels that choose none. A route that does not work stops them: the open route is not taken instead.',
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
    summary: 'Check an egress route',
    description:
      'Asks where it comes out, and keeps the answer. A route that does not work is an answer, not an error.',
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
    summary: 'List server locations of an egress route',
    description: 'Empty where the provider lists none.',
    auth: ['session'],
    permission: 'providers:read',
    limit: '60/hour',
    answer: z.array(z.strictObject({ id: z.string(), name: z.string(), country: z.string().nullable() })),
    handle: ({ rooms, principal, params }) => rooms.egress.places(principal.orgId, params.id),
    present: (places) => places.map(({ id, name, country }) => ({ id, name, country })),
  }),
];
