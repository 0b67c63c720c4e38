import { z } from 'zod';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { requirePermission } from '../../http/permit.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('channels');

export default [
  route({
    method: 'get',
    path: '/public/v1/social/:provider',
    summary: 'Start connecting a channel',
    description:
      'Answers the address of the consent page of the network. Needs the permission channels:create; with `refresh`, which names a channel that is to get a new login, channels:update.',
    auth: ['api-key', 'oauth'],
    permission: 'channels:create',
    orPermission: 'channels:update',
    query: z.object({ refresh: z.string().max(255).optional() }),
    answer: z.strictObject({ url: z.string() }),
    async handle({ rooms, principal, params, query: { refresh } }) {
      requirePermission(principal, refresh ? 'channels:update' : 'channels:create');
      if (!(await rooms.channels.canBeginAlone(principal.orgId, params.provider)))
        throw new AppError('invalid_request', 'Integration not allowed');
      return rooms.channels.begin(principal, params.provider, { refresh: refresh || undefined });
    },
    present: (begun) => begun,
  }),
];
