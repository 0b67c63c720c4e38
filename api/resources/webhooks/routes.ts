import { z } from 'zod';
import { invalidField } from '../../../src/platform/kernel/index.ts';
import { EVENT_TYPES } from '../../../src/delivery/webhooks/index.ts';
import { routesOf } from '../../http/route.ts';
import { attemptsPage, webhookRoutes } from './handlers.ts';
import { Sent } from './shape.ts';

const route = routesOf('webhooks');

const sent = (result: z.output<typeof Sent>) => result;

export default [
  ...webhookRoutes({ prefix: '', auth: ['session'] }),

  route({
    method: 'get',
    path: '/webhooks/event-types',
    summary: 'List webhook event types',
    auth: ['session'],
    answer: z.array(z.strictObject({ event: z.string(), description: z.string(), signed: z.boolean() })),
    handle: async () => EVENT_TYPES,
    present: (types) => types.map(({ event, description }) => ({ event, description, signed: true })),
  }),

  route({
    method: 'post',
    path: '/webhooks/test-ping/:id',
    summary: 'Send a test ping to a webhook',
    description: 'One signed `ping`; the answer says what came of it.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'webhooks:create',
    limit: '30/hour',
    answer: Sent,
    handle: ({ rooms, principal, params }) => rooms.webhooks.testPing(principal.orgId, params.id),
    present: sent,
  }),

  route({
    method: 'post',
    path: '/webhooks/send',
    summary: 'Send a test ping to a URL',
    description:
      "One signed `ping`; the answer says what came of it. Event and body are not the caller's to choose: the signature is that of the deployment.",
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'webhooks:create',
    limit: '30/hour',
    body: z.strictObject({ url: z.string().max(2_000).optional(), message: z.string().max(500).optional() }),
    query: z.object({ url: z.string().max(2_000).optional() }),
    answer: Sent,
    async handle({ rooms, body, query }) {
      const url = body.url ?? query.url;
      if (url === undefined) throw invalidField('url', 'is needed, in the body or in the query', 'required');
      return rooms.webhooks.send(url, body.message);
    },
    present: sent,
  }),

  route({
    method: 'get',
    path: '/webhooks/:id/deliveries',
    summary: 'List delivery attempts of a webhook',
    description: 'Newest first.',
    auth: ['session'],
    permission: 'webhooks:read',
    ...attemptsPage,
    handle: ({ rooms, principal, params, query }) =>
      rooms.webhooks.attempts(principal.orgId, params.id, { limit: query.limit, cursor: query.cursor }),
  }),

  route({
    method: 'post',
    path: '/webhooks/:id/deliveries/:deliveryId/redeliver',
    summary: 'Redeliver a finished delivery',
    description: 'With the same id and bytes.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'webhooks:create',
    limit: '30/hour',
    answer: Sent,
    handle: ({ rooms, principal, params }) => rooms.webhooks.redeliver(principal.orgId, params.id, params.deliveryId),
    present: sent,
  }),
];
