import { z } from 'zod';
import { ChannelRules } from '../../../src/publishing/channels/index.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('channels');

export default [
  route({
    method: 'get',
    path: '/public/v1/integration-settings/:id',
    summary: 'How to write for a channel: rules, greatest length, settings',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    answer: z.strictObject({ output: ChannelRules }),
    handle: ({ rooms, principal, params }) => rooms.channels.rulesOf(principal.orgId, params.id),
    present: (output) => ({ output }),
  }),
];
