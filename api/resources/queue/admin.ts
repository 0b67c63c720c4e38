import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('admin');

export default [
  route({
    method: 'get',
    path: '/admin/queue',
    summary: 'Count due, publishing and late posts',
    description:
      'Over all organizations. `circuits` names networks that answer nobody: their posts wait, and from `probeAt` on one of them tries again.',
    auth: ['super-admin'],
    answer: z.strictObject({
      due: z.int(),
      publishing: z.int(),
      late: z.int(),
      circuits: z.array(
        z.strictObject({
          providerId: z.string(),
          providerVersion: z.string(),
          lane: z.string(),
          openedAt: z.iso.datetime(),
          probeAt: z.iso.datetime(),
        }),
      ),
    }),
    handle: ({ rooms }) => rooms.admin.queue(),
    present: ({ due, publishing, late, circuits }) => ({
      due,
      publishing,
      late,
      circuits: circuits.map(({ openedAt, probeAt, ...one }) => ({
        ...one,
        openedAt: openedAt.toISOString(),
        probeAt: probeAt.toISOString(),
      })),
    }),
  }),

  route({
    method: 'post',
    path: '/admin/queue/refused/:id/retry',
    summary: 'Retry a fact that was set aside',
    description: 'Each listener that could not hear it hears it again; the log names its number as `outboxId`.',
    auth: ['super-admin'],
    params: z.object({ id: z.string().regex(/^\d{1,18}$/, 'must be the number of a fact') }),
    answer: z.strictObject({ heard: z.array(z.string()), refused: z.array(z.string()) }),
    handle: ({ rooms, params }) => rooms.admin.retryRefused(params.id),
    present: ({ heard, refused }) => ({ heard, refused }),
  }),
];
