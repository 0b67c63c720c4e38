import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('channels');

export default [
  route({
    method: 'get',
    path: '/public/v1/groups',
    summary: 'List channel groups',
    auth: ['api-key', 'oauth'],
    permission: 'channels:read',
    answer: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    revision: () => '',
    handle: ({ rooms, principal }) => rooms.channels.customers(principal.orgId),
    present: (groups) => [...groups],
  }),
];
