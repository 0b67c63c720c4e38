import { z } from 'zod';
import { ListPage, pageShape } from '../../http/fields.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { routesOf } from '../../http/route.ts';
import {
  Competitor,
  CompetitorChange,
  CompetitorHistory,
  CompetitorRange,
  NewCompetitor,
  presentCompetitor,
  presentCompetitorDays,
} from './shape.ts';

const route = routesOf('competitors');

export default [
  route({
    method: 'get',
    path: '/competitors',
    summary: 'List competitors',
    description: 'The newest first.',
    auth: ['session'],
    permission: 'competitors:read',
    query: ListPage,
    answer: pageShape(Competitor),
    handle: ({ rooms, principal, query }) => rooms.competitors.listCompetitors(principal.orgId, query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentCompetitor), nextCursor }),
  }),
  route({
    method: 'post',
    path: '/competitors',
    summary: 'Add an account to watch',
    description:
      'It is read within minutes, and then once a day between 04:30 and 05:30 UTC. Networks that show accounts to their own only need a connected channel.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'competitors:create',
    planLimit: 'competitors',
    idempotent: true,
    creates: true,
    body: NewCompetitor,
    answer: Competitor,
    handle: ({ rooms, principal: { orgId, userId }, body, idempotency }) =>
      rooms.competitors.watchCompetitor(
        orgId,
        { ...body, createdBy: userId },
        keptAnswer(idempotency, 201, presentCompetitor),
      ),
    present: presentCompetitor,
  }),
  route({
    method: 'get',
    path: '/competitors/:id',
    summary: 'Get a competitor',
    auth: ['session'],
    permission: 'competitors:read',
    answer: Competitor,
    handle: ({ rooms, principal, params: { id } }) => rooms.competitors.getCompetitor(principal.orgId, id),
    present: presentCompetitor,
  }),
  route({
    method: 'get',
    path: '/competitors/:id/history',
    summary: 'Get the counts of a competitor by day',
    description: 'Oldest first; thirty days unless `from` and `to` ask for others. Days are UTC.',
    auth: ['session'],
    permission: 'competitors:read',
    query: CompetitorRange,
    answer: CompetitorHistory,
    handle: ({ rooms, principal, params: { id }, query }) =>
      rooms.competitors.getCompetitorHistory(principal.orgId, id, query),
    present: presentCompetitorDays,
  }),
  ...(['put', 'patch'] as const).map((method) =>
    route({
      method,
      path: '/competitors/:id',
      summary: 'Change the name of a competitor',
      auth: ['session'],
      impersonation: 'allowed',
      permission: 'competitors:update',
      body: CompetitorChange,
      answer: Competitor,
      handle: ({ rooms, principal, params: { id }, body }) =>
        rooms.competitors.changeCompetitor(principal.orgId, id, body),
      present: presentCompetitor,
    }),
  ),
  route({
    method: 'delete',
    path: '/competitors/:id',
    summary: 'Delete a competitor with its history',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'competitors:delete',
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal, params: { id } }) {
      await rooms.competitors.removeCompetitor(principal.orgId, id);
      return { id };
    },
    present: (removed) => removed,
  }),
];
