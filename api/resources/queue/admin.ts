import { z } from 'zod';
import { route } from '../../http/route.ts';

export default [
  route({
    method: 'get',
    path: '/admin/queue',
    summary: 'Posts that are due, at their provider, and late, over all orgs.',
    auth: ['super-admin'],
    answer: z.strictObject({ due: z.int(), publishing: z.int(), late: z.int() }),
    handle: ({ ctx }) => ctx.admin.queue(),
    present: ({ due, publishing, late }) => ({ due, publishing, late }),
  }),
];
