import { z } from 'zod';
import { channelActor } from '../../../actors/channel/contract.ts';
import { ChannelRules, presentPublicChannel, PublicChannel } from '../../../src/publishing/channels/index.ts';
import { AppError, tenantKey } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { route } from '../../http/route.ts';

export default [
  route({
    method: 'get',
    path: '/public/v1/integrations',
    summary: 'The channels of the organization, of one group when asked',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    query: z.object({ group: z.string().max(255).optional() }),
    answer: z.array(PublicChannel),
    handle: ({ ctx, principal, query }) => ctx.channels.list(principal.orgId, query.group || undefined),
    present: (channels) => channels.map(presentPublicChannel),
  }),
  route({
    method: 'get',
    path: '/public/v1/groups',
    summary: 'The groups of channels',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    answer: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    handle: ({ ctx, principal }) => ctx.channels.customers(principal.orgId),
    present: (groups) => [...groups],
  }),
  route({
    method: 'get',
    path: '/public/v1/social/:provider',
    summary: 'The address of the consent page of a network',
    auth: ['api-key', 'oauth'],
    query: z.object({ refresh: z.string().max(255).optional() }),
    answer: z.strictObject({ url: z.string() }),
    handle({ ctx, principal, params, query: { refresh } }) {
      const needed = refresh ? 'channels:update' : 'channels:create';
      if (!principal.permissions.has(needed)) throw new AppError('forbidden', `Your role lacks the permission ${needed}`);
      if (!ctx.channels.canBeginAlone(params['provider']!)) throw new AppError('invalid_request', 'Integration not allowed');
      return ctx.channels.begin(principal, params['provider']!, { refresh: refresh || undefined });
    },
    present: (begun) => begun,
  }),
  route({
    method: 'delete',
    path: '/public/v1/integrations/:id',
    summary: 'Deletes a channel with its unpublished posts',
    auth: ['api-key', 'oauth'],
    permission: 'channels:delete',
    answer: z.strictObject({ id: z.string(), name: z.string(), identifier: z.string() }),
    async handle({ ctx, actors, principal, params, request }) {
      const channel = await ctx.channels.get(principal.orgId, params['id']!);
      await actors(channelActor, tenantKey(principal.orgId, channel.id)).remove({ by: auditActor({ principal, request }) });
      return channel;
    },
    present: ({ id, name, identifier }) => ({ id, name, identifier }),
  }),
  route({
    method: 'get',
    path: '/public/v1/integration-settings/:id',
    summary: 'How to write for a channel: rules, greatest length, settings',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    answer: z.strictObject({ output: ChannelRules }),
    handle: ({ ctx, principal, params }) => ctx.channels.rulesOf(principal.orgId, params['id']!),
    present: (output) => ({ output }),
  }),
];
