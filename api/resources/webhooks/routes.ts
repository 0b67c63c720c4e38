import { z } from 'zod';
import { webhookActor } from '../../../actors/webhook/contract.ts';
import { invalidField, tenantKey } from '../../../src/platform/kernel/index.ts';
import { EVENT_TYPES, isEvent } from '../../../src/delivery/webhooks/index.ts';
import { routesOf } from '../../http/route.ts';
import { attemptsPage, webhookRoutes } from './handlers.ts';
import { Sent } from './shape.ts';

const route = routesOf('webhooks');

const Seq = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
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
    present: (types) => types.map(({ event, description, signed }) => ({ event, description, signed })),
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
    handle: ({ rooms, principal, params, query }) => rooms.webhooks.attempts(principal.orgId, params.id, query),
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

  route({
    method: 'post',
    path: '/webhooks/:id/replay',
    summary: 'Replay finished deliveries of a webhook',
    description:
      'Those with numbers after and before the given ones, at most 10,000, with the same ids and bytes and in their order, behind new ones.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'webhooks:create',
    limit: '30/hour',
    body: z.strictObject({
      after: Seq.optional(),
      before: Seq.optional(),
      event: z
        .string()
        .refine((name) => isEvent(name), 'is no event that webhooks are sent')
        .optional(),
      state: z.enum(['succeeded', 'failed']).optional(),
    }),
    answer: z.strictObject({ queued: z.int() }),
    async handle({ rooms, actors, principal: { orgId }, params: { id }, body }) {
      const queued = await rooms.webhooks.replay(orgId, id, body);
      if (queued > 0) await actors(webhookActor, tenantKey(orgId, id)).deliver({});
      return queued;
    },
    present: (queued) => ({ queued }),
  }),
];
