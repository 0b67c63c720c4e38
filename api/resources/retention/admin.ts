import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { presentRetention, RetentionEntry } from './shape.ts';

const route = routesOf('retention');

export default [
  route({
    method: 'get',
    path: '/admin/retention',
    summary: 'List how long things are kept',
    description:
      'Each setting with its days, the rows that are due to be deleted now (up to a million of a kind), the oldest of them, and the last runs of the sweeps that delete them. Nothing is deleted here.',
    auth: ['super-admin'],
    limit: '60/hour', // counts whole tables
    answer: z.strictObject({ items: z.array(RetentionEntry) }),
    handle: ({ rooms }) => rooms.retention.report(),
    present: (lines) => ({ items: lines.map(presentRetention) }),
  }),
];
