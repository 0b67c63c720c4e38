import { z } from 'zod';
import { route } from '../../http/route.ts';

export default [
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
];
