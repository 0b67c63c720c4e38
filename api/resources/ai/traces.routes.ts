import { z } from 'zod';
import { ListPage, pageShape } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';
import { presentTrace, Trace } from './designer.shape.ts';

const route = routesOf('runs');

export default [
  route({
    method: 'get',
    path: '/ai/traces',
    summary: 'List traces of AI calls in a run',
    description: 'The oldest first. Those of own runs; with `ai:manage` those of everybody.',
    auth: ['session'],
    permission: 'ai:read',
    query: ListPage.extend({ run: z.uuid('is the id of a designer session or another run') }),
    answer: pageShape(Trace),
    handle: ({ rooms, principal: { orgId, userId, permissions }, query: { run, limit, cursor } }) =>
      rooms.runs.traces(orgId, {
        runId: run,
        limit,
        cursor,
        ...(!permissions.has('ai:manage') && { userId }),
      }),
    present: ({ items, nextCursor }) => ({ items: items.map(presentTrace), nextCursor }),
  }),
];
