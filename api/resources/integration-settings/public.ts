import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { ChannelRules, presentRules } from '../integrations/shape.ts';

const route = routesOf('channels');

export default [
  route({
    method: 'get',
    path: '/public/v1/integration-settings/:id',
    summary: 'Get the posting rules of a channel',
    description:
      'Rules as text, the greatest length, the schema of its settings, and the methods of `integration-trigger`.',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    answer: z.strictObject({ output: ChannelRules }),
    handle: ({ rooms, principal, params }) => rooms.channels.rulesOf(principal.orgId, params.id),
    present: (rules) => ({ output: presentRules(rules) }),
  }),
];
