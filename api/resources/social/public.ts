import { z } from 'zod';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { route } from '../../http/route.ts';

export default [
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
];
