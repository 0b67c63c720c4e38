import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { AutoPlugs, PlugRow, PostPlugs, presentAutoPlugs, presentPlugRow, presentPostPlugs } from './plugs.shape.ts';

const route = routesOf('followUps');

/** Auto plugs of channels, and the post plugs of networks. */
export const plugRoutes = [
  route({
    method: 'get',
    path: '/integrations/plug/list',
    summary: 'List auto plugs of each network',
    auth: ['session'],
    permission: 'channels:update',
    answer: AutoPlugs,
    handle: async ({ rooms }) => rooms.followUps.listAutoPlugs(),
    present: presentAutoPlugs,
  }),
  route({
    method: 'get',
    path: '/integrations/:identifier/internal-plugs',
    summary: 'List post plugs of a network',
    description:
      'A post asks for one by the keys `plug--<identifier>--active`, `plug--<identifier>--integrations` and `plug--<identifier>--<field>` of its settings. A channel is picked as `{id}`, or as `{id, fields: {<field>: …}}` with values of its own in place of those of all picked channels: for a place that only its own server or workspace has.',
    auth: ['session'],
    permission: 'channels:read',
    answer: PostPlugs,
    handle: async ({ rooms, params }) => rooms.followUps.listPostPlugs(params.identifier),
    present: presentPostPlugs,
  }),
  route({
    method: 'get',
    path: '/integrations/:id/plugs',
    summary: 'List auto plugs that a channel has',
    auth: ['session'],
    permission: 'channels:update',
    answer: z.array(PlugRow),
    handle: ({ rooms, principal, params }) => rooms.followUps.listConfigurations(principal.orgId, params.id),
    present: (rows) => rows.map(presentPlugRow),
  }),
  route({
    method: 'post',
    path: '/integrations/:id/plugs',
    summary: 'Set an auto plug of a channel',
    description: 'A new one is active; one that is there gets the new fields.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    creates: true,
    body: z.strictObject({
      func: z.string().min(1).max(255),
      fields: z.array(z.strictObject({ name: z.string().max(255), value: z.string().max(10_000) })).max(100),
    }),
    answer: PlugRow.pick({ id: true, plugFunction: true, integrationId: true, activated: true }),
    handle: ({ rooms, principal, params, body }) => rooms.followUps.saveConfiguration(principal.orgId, params.id, body),
    present: ({ id, plugFunction, channelId, activated }) => ({
      id,
      plugFunction,
      integrationId: channelId,
      activated,
    }),
  }),
  route({
    method: 'put',
    path: '/integrations/plugs/:id/activate',
    summary: 'Enable or disable an auto plug',
    description: 'What it missed while it was off is not made up for.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'channels:update',
    body: z.strictObject({ status: z.boolean() }),
    answer: PlugRow.pick({ id: true, activated: true }),
    handle: ({ rooms, principal, params, body }) =>
      rooms.followUps.setConfigurationActive(principal.orgId, params.id, body.status),
    present: ({ id, activated }) => ({ id, activated }),
  }),
];
