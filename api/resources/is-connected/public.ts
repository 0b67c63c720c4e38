import { z } from 'zod';
import { route } from '../../http/route.ts';

export default [
  route({
    method: 'get',
    path: '/public/v1/is-connected',
    summary: 'Whether the credential works.',
    auth: ['api-key', 'oauth'],
    answer: z.object({ connected: z.literal(true) }),
    handle: async () => {},
    present: () => ({ connected: true as const }),
  }),
];
