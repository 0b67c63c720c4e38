import { z } from 'zod';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('admin');

const MOST = 100;

export default [
  route({
    method: 'get',
    path: '/public/v1/users',
    summary: 'Search users of the instance',
    description: 'By a part of their name or address; only for keys of super-admins, and for no access token.',
    auth: ['api-key', 'oauth'],
    query: z.object({ name: z.string().trim().min(1).max(254).optional() }),
    answer: z.array(z.strictObject({ id: z.string(), name: z.string(), email: z.string() })),
    async handle({ rooms, principal, query }) {
      if (principal.kind !== 'api-key' || !principal.isSuperAdmin)
        throw new AppError('super_admin_required', 'Only the API key of a super-admin may do this');
      return (await rooms.admin.users.list({ search: query.name, limit: MOST })).items;
    },
    present: (users) =>
      users.map(({ id, name, lastName, email }) => ({ id, name: `${name} ${lastName}`.trim(), email })),
  }),
];
