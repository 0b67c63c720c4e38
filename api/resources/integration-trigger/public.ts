import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('channels');

export default [
  route({
    method: 'post',
    path: '/public/v1/integration-trigger/:id',
    summary: 'Request data from the network of a channel',
    description:
      'By a method of `tools` of `GET /public/v1/integration-settings/:id`, such as the boards that a post can go to.',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    body: z.strictObject({
      methodName: z.string().min(1).max(100),
      data: z.record(z.string(), z.unknown()).optional(),
    }),
    answer: z.strictObject({ output: z.unknown() }),
    handle: ({ rooms, principal, params, body: { methodName, data = {} } }) =>
      rooms.channels.callTool(principal.orgId, params.id, methodName, data),
    present: (output) => ({ output }),
  }),
];
