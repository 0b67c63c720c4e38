import { z } from 'zod';
import { invalidField } from '../../../src/platform/kernel/index.ts';
import { WebhookUpdate } from '../../../src/delivery/webhooks/index.ts';
import { routesOf } from '../../http/route.ts';
import { changeWebhook, webhookRoutes } from './handlers.ts';
import { viewFor, Webhook, WebhookWithSecret } from './shape.ts';

const route = routesOf('webhooks');

export default [
  ...webhookRoutes({ prefix: '/public/v1', auth: ['api-key', 'oauth'] }),

  route({
    method: 'get',
    path: '/public/v1/webhooks/:id',
    summary: 'Get a webhook with its delivery statistics',
    auth: ['api-key', 'oauth'],
    answer: Webhook,
    handle: async ({ rooms, principal, params }) =>
      viewFor(principal, await rooms.webhooks.get(principal.orgId, params.id)),
    present: (view) => view,
  }),

  route({
    method: 'put',
    path: '/public/v1/webhooks/:id',
    summary: 'Change a webhook by its id',
    description: 'The id may be in the body as well.',
    auth: ['api-key', 'oauth'],
    permission: 'webhooks:update',
    body: WebhookUpdate.extend({ id: z.string().optional() }),
    answer: WebhookWithSecret,
    async handle({ body: { id, ...body }, ...call }) {
      if (id !== undefined && id !== call.params.id)
        throw invalidField('id', 'must be absent, or the one of the path', 'mismatch');
      return changeWebhook(call, call.params.id, body);
    },
    present: (view) => view,
  }),
];
