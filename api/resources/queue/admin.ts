import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('admin');

export default [
  route({
    method: 'get',
    path: '/admin/queue',
    summary: 'Posts that are due, at their provider, and late, over all orgs.',
    auth: ['super-admin'],
    answer: z.strictObject({ due: z.int(), publishing: z.int(), late: z.int() }),
    handle: ({ rooms }) => rooms.admin.queue(),
    present: ({ due, publishing, late }) => ({ due, publishing, late }),
  }),
];
