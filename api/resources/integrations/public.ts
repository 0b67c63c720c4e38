import { z } from 'zod';
import { channelActor } from '../../../actors/channel/contract.ts';
import { tenantKey } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { presentPublicChannel, PublicChannel } from './shape.ts';

const route = routesOf('channels');

export default [
  route({
    method: 'get',
    path: '/public/v1/integrations',
    summary: 'List channels',
    description: 'Those of one group when asked.',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    query: z.object({ group: z.string().max(255).optional() }),
    answer: z.array(PublicChannel),
    revision: () => '',
    handle: ({ rooms, principal, query }) => rooms.channels.list(principal.orgId, query.group || undefined),
    present: (channels) => channels.map(presentPublicChannel),
  }),
  route({
    method: 'delete',
    path: '/public/v1/integrations/:id',
    summary: 'Delete a channel and its unpublished posts',
    auth: ['api-key', 'oauth'],
    permission: 'channels:delete',
    answer: z.strictObject({ id: z.string(), name: z.string(), identifier: z.string() }),
    async handle({ rooms, actors, principal, params, request }) {
      const channel = await rooms.channels.get(principal.orgId, params.id);
      await actors(channelActor, tenantKey(principal.orgId, channel.id)).remove({
        by: auditActor({ principal, request }),
      });
      return channel;
    },
    present: ({ id, name, providerId }) => ({ id, name, identifier: providerId }),
  }),
];
