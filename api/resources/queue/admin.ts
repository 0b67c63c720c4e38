import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('admin');

export default [
  route({
    method: 'get',
    path: '/admin/queue',
    summary: 'Count due, publishing and late posts',
    description: 'Over all organizations.',
    auth: ['super-admin'],
    answer: z.strictObject({ due: z.int(), publishing: z.int(), late: z.int() }),
    handle: ({ rooms }) => rooms.admin.queue(),
    present: ({ due, publishing, late }) => ({ due, publishing, late }),
  }),
];
