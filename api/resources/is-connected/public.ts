import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf();

export default [
  route({
    method: 'get',
    path: '/public/v1/is-connected',
    summary: 'Check the credential',
    auth: ['api-key', 'oauth'],
    answer: z.object({ connected: z.literal(true) }),
    handle: async () => {},
    present: () => ({ connected: true as const }),
  }),
];
