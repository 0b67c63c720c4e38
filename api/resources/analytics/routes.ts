import { Readable } from 'node:stream';
import { z } from 'zod';
import { isId } from '../../../src/platform/kernel/index.ts';
import { routesOf } from '../../http/route.ts';
import { historyRoute, MetricName, numbersRoutes, Range } from './handlers.ts';
import {
  Anomaly,
  BestTimes,
  CountedPost,
  Overview,
  presentAnomaly,
  presentBestTimes,
  presentCountedPost,
  presentOverview,
} from './shape.ts';

const route = routesOf('analytics');

/** Where a page of posts ends: what it is in the order of, and the post. */
const Cursor = z
  .string()
  .max(80)
  .transform((text, context) => {
    const [, rank, id = ''] = /^(\d[\d.e+]{0,30})_([0-9a-f-]{36})$/.exec(text) ?? [];
    if (rank !== undefined && Number.isFinite(Number(rank)) && isId(id)) return { rank: Number(rank), id };
    context.addIssue('take it from the page before');
    return z.NEVER;
  });

export default [
  ...numbersRoutes('/analytics', ['session']),

  route({
    method: 'get',
    path: '/analytics/overview',
    summary: 'Get the numbers of all channels',
    description:
      'Each metric over a range, by default the last 30 whole days, and over as many days before; `previous` is null where the plan does not show them.',
    auth: ['session'],
    permission: 'analytics:read',
    query: Range,
    answer: Overview,
    handle: ({ rooms, principal, query }) => rooms.analytics.getOverview(principal.orgId, query),
    present: presentOverview,
  }),

  historyRoute('/analytics/channels/:integrationId/history', ['session']),

  route({
    method: 'get',
    path: '/analytics/posts',
    summary: 'List published posts by their numbers',
    description: 'With their latest totals, the greatest first; `sort` is a metric, or `publishedAt`.',
    auth: ['session'],
    permission: 'analytics:read',
    query: z.object({
      sort: z.enum(['publishedAt', ...MetricName.options]).default('publishedAt'),
      limit: z.coerce.number().int().min(1).max(100).default(50),
      cursor: Cursor.optional(),
    }),
    answer: z.strictObject({ items: z.array(CountedPost), nextCursor: z.string().nullable() }),
    async handle({ rooms, principal, query: { sort, limit, cursor } }) {
      const rows = await rooms.analytics.listPostNumbers(principal.orgId, {
        ...(sort !== 'publishedAt' && { metric: sort }),
        limit: limit + 1,
        ...(cursor && { after: cursor }),
      });
      return { rows, limit };
    },
    present({ rows, limit }) {
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return {
        items: rows.slice(0, limit).map(presentCountedPost),
        nextCursor: last ? `${last.rank}_${last.id}` : null,
      };
    },
  }),

  route({
    method: 'get',
    path: '/analytics/anomalies',
    summary: 'List anomalies',
    description: 'Values of a day that stood out from the 28 days before, the latest first; by default of 30 days.',
    auth: ['session'],
    permission: 'analytics:read',
    query: Range,
    answer: z.strictObject({ anomalies: z.array(Anomaly) }),
    handle: ({ rooms, principal, query }) => rooms.analytics.listAnomalies(principal.orgId, query),
    present: (rows) => ({ anomalies: rows.map(presentAnomaly) }),
  }),

  route({
    method: 'get',
    path: '/analytics/best-times/:id',
    summary: 'List the best hours of a channel',
    description:
      'Hours of the week (1 is Monday) in the zone of the organization, by what posts of 90 days were met with, the best first; empty below 20 posts.',
    auth: ['session'],
    permission: 'analytics:read',
    answer: BestTimes,
    handle: ({ rooms, principal, params }) => rooms.analytics.getBestTimes(principal.orgId, params.id),
    present: presentBestTimes,
  }),

  route({
    method: 'get',
    path: '/analytics/export.csv',
    summary: 'Download the numbers of all channels',
    description: 'As CSV, by default of the last 30 whole days. No cell is a formula.',
    auth: ['session'],
    permission: 'analytics:read',
    query: Range,
    output: 'bytes',
    mediaType: 'text/csv',
    answer: z.instanceof(Readable),
    async handle({ rooms, principal, query, reply }) {
      const lines = await rooms.analytics.exportNumbers(principal.orgId, query);
      reply.header('Content-Type', 'text/csv; charset=utf-8; header=present');
      reply.header('Content-Disposition', 'attachment; filename="analytics.csv"');
      return Readable.from(lines);
    },
    present: (file) => file,
  }),
];
